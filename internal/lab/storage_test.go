package lab

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// storing is a service in which data can lie.
var storing = &service.Service{Service: scenario.Service{Compares: func(c scenario.Client) bool { return c.Flag("compare") }}}

// TestChecks: a run says that each write is checked only if each one is, wherever the data
// lies.
func TestChecks(t *testing.T) {
	client := func(compare string) scenario.Client {
		return scenario.Client{Values: setting.Values{"compare": compare}}
	}
	for _, tt := range []struct {
		storage          scenario.Storage
		client1, client2 string
		want             bool
	}{
		{scenario.Storage{In: scenario.InProcess, Fencing: scenario.FencingOn}, "false", "false", true},
		{scenario.Storage{In: scenario.InProcess, Fencing: scenario.FencingOff}, "true", "true", false},
		{scenario.Storage{In: scenario.InProcess, Fencing: scenario.FencingObserve}, "true", "true", false},
		{scenario.Storage{In: scenario.InService, Fencing: scenario.FencingOn}, "true", "true", true},
		{scenario.Storage{In: scenario.InService, Fencing: scenario.FencingOn}, "true", "false", false},
	} {
		r := &run{service: storing, variant: &scenario.Variant{
			World:   scenario.World{Storage: tt.storage},
			Clients: map[string]scenario.Client{"client1": client(tt.client1), "client2": client(tt.client2)},
		}}
		if got := r.checks(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt, got, tt.want)
		}
	}
}

// TestObservedIsApplied: what a storage only would have refused, it did, and the story says so.
func TestObservedIsApplied(t *testing.T) {
	e := storageEvent(kv.Line{Index: 1, Op: kv.OpWrite, Key: "k", Would: "missing", Error: "in more words"})
	if e.Kind != history.KindApplied || e.Reason != "" || e.Text != "would be refused: missing" {
		t.Errorf("got %+v", e)
	}
}
