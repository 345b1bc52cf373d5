package sqlservice

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Seen is what is compared of the row that has the data of a lock.
type Seen struct {
	Version fence.Token `json:"version"`
	Status  *string     `json:"status"` // nil: it has none
}

// StatusText is the status in words.
func (s Seen) StatusText() string {
	if s.Status == nil {
		return "none"
	}
	return *s.Status
}

// Version keeps nobody out. Everybody reads, and has a tenure at once, which goes on as long
// as the row is as it was read.
func Version(look Looking) Recipe {
	return Recipe{
		ID: "version", Shows: history.ShowsGrant, Look: look,
		Text: "No lock, but a version in the row of the data: each UPDATE makes the version one higher, if the row still has the version that the client has read.",
		Same: func(read, now Seen) bool { return read.Version == now.Version },
	}
}

// Status is as Version, by the value of a key.
func Status(look Looking) Recipe {
	return Recipe{
		ID: "status", Shows: NoToken, Look: look,
		Text: "No lock: as version, but the UPDATE compares the value of the key status.",
		Same: func(read, now Seen) bool { return read.StatusText() == now.StatusText() },
	}
}

// read reads the row, which begins a tenure at once: nobody keeps anybody out.
func (w *asking) read(ctx context.Context, _ func(owner string)) (lock.Tenure, error) {
	seen, err := w.see(ctx, ToldReads)
	if err != nil {
		return nil, w.failed(w.op, err)
	}
	if w.Recipe.Shows != NoToken {
		w.Token = seen.Version
	}
	t := &readTenure{tenure: tenure{service.NewLife(), w}}
	t.knows.Store(&seen)
	w.Client.tenures.Store(w.Owner, t)
	return t, nil
}

func (w *asking) see(ctx context.Context, kind string) (seen Seen, err error) {
	conn, err := w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return seen, err
	}
	defer conn.HangUp()
	return w.Recipe.Look(ctx, conn, &w.Attempt, w.Recipe.ID, kind)
}

// readTenure is one that goes on as long as the row is as it was read, or as the client
// itself has made it.
type readTenure struct {
	tenure
	knows atomic.Pointer[Seen] // the row as the client knows it
}

// Grant implements lock.Tenure. The tenure is shared: it keeps nobody out.
func (t *readTenure) Grant() lock.Grant {
	g := t.tenure.Grant()
	g.Mode = fence.Shared
	return g
}

func (t *readTenure) Unlock(ctx context.Context) error {
	t.End(nil)
	t.of.Client.tenures.Delete(t.of.Owner)
	now, err := t.of.see(ctx, ToldEnds)
	if err == nil && !t.of.Recipe.Same(*t.knows.Load(), now) {
		return lock.ErrLost
	}
	return t.of.undone(err)
}

// stale is the refusal of a change, as the row is another one now.
func (t *readTenure) stale(now Seen) error {
	knew := t.knows.Load()
	if t.of.Recipe.Shows == NoToken {
		return fmt.Errorf("%w: the status was %s, and is %s", fence.ErrStale, knew.StatusText(), now.StatusText())
	}
	return &fence.StaleError{Scope: t.of.Attempt.Lock, Token: knew.Version, Mark: now.Version}
}
