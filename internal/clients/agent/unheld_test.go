package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

// careless unlocks also where it was refused.
type careless struct{ service.Client }

func (careless) TryLock(ctx context.Context, scope, _ string) (service.Tenure, error) {
	if err := service.UnlockUnheld(ctx, scope, func() error { return nil }); err != nil {
		return nil, err
	}
	return nil, lock.ErrLocked
}

// TestUnlockOfWhatIsNotHeld: an unlock that is a part of asking for a lock is told of, and is of no tenure.
func TestUnlockOfWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Run(t.Context(), strings.NewReader("trylock\n"), &out, Config{
		Name: "client1", Scope: "/l", Settings: setting.Defaults(setting.Client), Locks: careless{}, Words: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for in := json.NewDecoder(&out); in.More(); {
		var e history.Event
		if err := in.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Tenure != "" {
			t.Errorf("%+v is of a tenure", e)
		}
		got = append(got, fmt.Sprint(e.Kind, " ", e.Op, " ", e.Scope))
	}
	if got, want := strings.Join(got[1:], ", "), "invoke trylock /l, invoke unlock /l, ok unlock /l, fail trylock /l"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
