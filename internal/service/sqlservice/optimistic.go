package sqlservice

import (
	"context"
	"fmt"
	"sync"

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

// Looks makes a look at the row of a lock, by a recipe of this ID. The account is told of it as
// kind says.
type Looks[C any] func(by, kind string) Looking[C]

// Version keeps nobody out. Everybody reads, and has a tenure at once, which goes on as long
// as the row is as it was read.
func Version[C any](look Looks[C]) Recipe[C] {
	return Recipe[C]{
		ID: byVersion, Shows: history.ShowsGrant,
		Text: "No lock, but a version in the row of the data. Each UPDATE makes the version one higher, and is made only if the row still has the version that the client has read.",
		Read: look(byVersion, ToldReads), Leave: look(byVersion, ToldEnds),
		Same: func(read, now Seen) bool { return read.Version == now.Version },
	}
}

// Status is as Version, by the value of a key.
func Status[C any](look Looks[C]) Recipe[C] {
	return Recipe[C]{
		ID: byStatus, Shows: NoToken,
		Text: "No lock: as version, but the UPDATE compares the value of the key status.",
		Read: look(byStatus, ToldReads), Leave: look(byStatus, ToldEnds),
		Same: func(read, now Seen) bool { return read.StatusText() == now.StatusText() },
	}
}

// What recipes compare.
const (
	byVersion = "version"
	byStatus  = "status"
)

// read reads the row, which begins a tenure at once: nobody keeps anybody out.
func (w *asking[C]) read(ctx context.Context) (service.Tenure, error) {
	seen, err := w.see(ctx, w.Recipe.Read)
	if err != nil {
		return nil, w.failed(w.op, err)
	}
	if w.Recipe.Shows != NoToken {
		w.Token = seen.Version
	}
	service.Stand(ctx, w.Owner)
	t := &ReadTenure[C]{tenure: newTenure(w), seen: seen}
	w.Client.tenures.Store(w.Owner, t)
	return t, nil
}

func (w *asking[C]) see(ctx context.Context, look Looking[C]) (seen Seen, err error) {
	conn, err := w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return seen, err
	}
	defer w.Database.HangUp(conn)
	return look(ctx, conn, &w.Attempt)
}

// ReadTenure is one that goes on as long as the row is as it was read, or as the client
// itself has made it.
type ReadTenure[C any] struct {
	*tenure[C]

	mu   sync.Mutex
	seen Seen
}

// Grant implements lock.Tenure, as the one below does. The tenure is shared: it keeps
// nobody out.
func (t *ReadTenure[C]) Grant() lock.Grant {
	g := t.tenure.Grant()
	g.Mode = fence.Shared
	return g
}

func (t *ReadTenure[C]) Unlock(ctx context.Context) error {
	t.End(nil)
	t.of.Client.tenures.Delete(t.Name())
	now, err := t.of.see(ctx, t.of.Recipe.Leave)
	if err == nil && !t.of.Recipe.Same(t.Seen(), now) {
		return lock.ErrLost
	}
	return t.of.undone(err)
}

// Seen is the row as the client knows it.
func (t *ReadTenure[C]) Seen() Seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// Changed takes in the row as the client has made it.
func (t *ReadTenure[C]) Changed(now Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = now
}

// Stale is the refusal of a change, as the row is another one now.
func (t *ReadTenure[C]) Stale(now Seen) error {
	if t.of.Recipe.Shows == NoToken {
		return fmt.Errorf("%w: the status was %s, and is %s", fence.ErrStale, t.Seen().StatusText(), now.StatusText())
	}
	return &fence.StaleError{Scope: t.of.Attempt.Lock, Token: t.Seen().Version, Mark: now.Version}
}
