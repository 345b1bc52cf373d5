package changes_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/redis"
)

func TestMain(m *testing.M) {
	proctest.Main(m, postgresproc.Command(), mariadbproc.Command(), redis.Service().Command())
}

const deadline = time.Minute

// account tells what a storage has changed.
type account interface {
	Changes(context.Context) ([]string, error)
}

// asked is what a client does, and what is to be seen of that.
type asked struct {
	name    string
	do      func(context.Context) error
	held    string // at the gate; "": nothing
	changed []string
}

// see has a client ask by a gate, and compares what is held there, and what the account tells.
func see(t *testing.T, g *gate.Gate, a account, all []asked) {
	t.Helper()
	for _, tt := range all {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		done := make(chan error, 1)
		go func() { done <- tt.do(ctx) }()
		held := ""
		var changed []string
		for going := true; going; {
			select {
			case q := <-g.Requests:
				before, err := a.Changes(ctx)
				if changed = append(changed, before...); held == "" && len(changed) > 0 || err != nil {
					t.Errorf("%s: %q was changed before it passed, error %v", tt.name, changed, err)
				}
				held += q.What
				q.Pass()
				if said := <-q.Answer; said == "" || said == "no answer" {
					t.Errorf("%s: the storage answers %q to %s", tt.name, said, q)
				}
			case err := <-done:
				if going = false; err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
		}
		if held != tt.held {
			t.Errorf("%s: %q is held, want %q", tt.name, held, tt.held)
		}
		after, err := a.Changes(ctx)
		if changed = append(changed, after...); !slices.Equal(changed, tt.changed) || err != nil {
			t.Errorf("%s: changed %q, error %v, want %q", tt.name, changed, err, tt.changed)
		}
		cancel()
	}
}
