package eslock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in an index.
type Tenure struct {
	index index
	ttl   time.Duration
	grant lock.Grant
	words string

	renewals attempt.Renewals

	life context.Context
	end  context.CancelCauseFunc
	kept chan struct{} // closed when nobody renews the lease any more

	mu   sync.Mutex
	last record // the document as the tenure has left it
}

var _ lock.Renewer = (*Tenure)(nil)

// errReleased is why the life of a tenure ends that was unlocked.
var errReleased = errors.New("released")

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(g lock.Grant, words string, r record, until time.Time) *Tenure {
	t := &Tenure{index: b.index, ttl: b.ttl, grant: g, words: words, kept: make(chan struct{}), last: r}
	t.life, t.end = context.WithCancelCause(context.Background())
	go t.keep(until)
	return t
}

// Grant returns what was granted. The owner is what the document has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the document is found without the tenure at a renewal, or
// when no renewal was answered for the TTL. That TTL begins when the last request that was
// answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error {
	if cause := context.Cause(t.life); cause != errReleased {
		return cause
	}
	return nil
}

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give
// ctx a deadline. Done is closed as soon as Unlock begins.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.end(errReleased)
	<-t.kept
	freed, err := t.change(ctx, func(d *document) bool { return d.remove(t.grant.Owner) })
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("eslock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("eslock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// keep renews the lease until the tenure ends, every third of the TTL, and more often where
// there was no answer.
func (t *Tenure) keep(until time.Time) {
	defer close(t.kept)
	wait := t.ttl / 3
	for {
		if attempt.Sleep(t.life, min(wait, time.Until(until))) != nil {
			return
		}
		asked := time.Now()
		if !asked.Before(until) {
			t.end(lock.ErrCutOff)
			return
		}
		held, err := t.renewals.Ask("eslock", t.grant.Scope, func() (bool, error) { return t.renew(until) })
		switch {
		case err != nil:
			wait = t.ttl / 10
		case !held:
			t.end(lock.ErrLost)
			return
		default:
			wait, until = t.ttl/3, asked.Add(t.ttl)
		}
	}
}

// renew changes the document, and waits for the answer until then.
func (t *Tenure) renew(until time.Time) (held bool, err error) {
	ctx, cancel := context.WithDeadline(t.life, until)
	defer cancel()
	return t.change(ctx, func(d *document) bool {
		i := d.find(t.grant.Owner)
		if i >= 0 {
			d.Holders[i].Renewals++
			d.Holders[i].Words = t.words
		}
		return i >= 0
	})
}

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.renewals.Listen(t.life, f) }

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
