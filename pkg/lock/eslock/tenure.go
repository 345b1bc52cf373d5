package eslock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in an index.
type Tenure struct {
	index index
	grant lock.Grant
	words string
	life  attempt.Life

	mu   sync.Mutex
	last record // the document as the tenure has left it
}

var _ lock.Renewer = (*Tenure)(nil)

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(g lock.Grant, words string, r record, until time.Time) *Tenure {
	t := &Tenure{index: b.index, grant: g, words: words, last: r}
	t.life.Begin(context.Background())
	t.life.Keep(until, attempt.Renewal{Package: "eslock", Scope: g.Scope, TTL: b.ttl, Renew: t.renew})
	return t
}

// Grant returns what was granted. The owner is what the document has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the document is found without the tenure at a renewal, or
// when no renewal was answered for the TTL. That TTL begins when the last request that was
// answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give
// ctx a deadline. Done is closed as soon as Unlock begins. If a proxy sends the change twice, the
// second one is refused because of the first one, and Unlock returns lock.ErrLost of a lock that it has freed.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.life.Release()
	freed, err := t.change(ctx, func(d *document) bool { return d.remove(t.grant.Owner) })
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("eslock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("eslock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// renew changes the document. A change that something on the way sends twice is done, and is refused; the renewals tell.
func (t *Tenure) renew(ctx context.Context, _ time.Duration) (held bool, err error) {
	asked := int64(0)
	_, err = t.change(ctx, func(d *document) bool {
		i := d.find(t.grant.Owner)
		held = i >= 0
		if !held || 0 < asked && asked <= d.Holders[i].Renewals {
			return false
		}
		d.Holders[i].Renewals++
		d.Holders[i].Words = t.words
		asked = d.Holders[i].Renewals
		return true
	})
	return held, err
}

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.life.OnRenewal(f) }

// change changes the document as the tenure has left it, or as it is by now. changed is false
// where edit finds nothing to change.
func (t *Tenure) change(ctx context.Context, edit func(*document) bool) (changed bool, err error) {
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	left, changed, err := t.index.change(ctx, t.grant.Scope, last, edit)
	if err != nil { // the document may have changed
		left = record{}
	}
	t.mu.Lock()
	t.last = left
	t.mu.Unlock()
	return changed, err
}
