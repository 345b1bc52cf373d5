package lab

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestModeComesThrough: from the engine by the journal into the history.
func TestModeComesThrough(t *testing.T) {
	var b bytes.Buffer
	e := kv.NewMemory(kv.Options{Observe: kv.NewJournal(&b).Observe})
	modes := []fence.Mode{fence.Shared, fence.Exclusive}
	for _, m := range modes {
		req := kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 5, Mode: m}}
		if err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: "k", Value: m.String()}); err != nil {
			t.Fatal(err)
		}
	}
	for lines := json.NewDecoder(&b); lines.More(); modes = modes[1:] {
		var line kv.Line
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if got := storageEvent(line); got.Kind != history.KindApplied || got.Mode != modes[0] || got.Value != modes[0].String() {
			t.Errorf("got %+v, want mode %v", got, modes[0])
		}
	}
	if len(modes) > 0 {
		t.Errorf("the journal says nothing of %v", modes)
	}
}
