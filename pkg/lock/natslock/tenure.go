package natslock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in a bucket.
type Tenure struct {
	backend *Backend
	grant   lock.Grant
	key     string
	holder  holder

	renewals attempt.Renewals

	life context.Context
	end  context.CancelCauseFunc
	kept chan struct{} // closed when nobody renews the lease any more

	mu   sync.Mutex
	last uint64 // the last revision of the key that is known to be the tenure's
}

var _ lock.Renewer = (*Tenure)(nil)

// errReleased is why the life of a tenure ends that was unlocked.
var errReleased = errors.New("released")

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(g lock.Grant, key string, h holder, until time.Time) *Tenure {
	h.Token = uint64(g.Token)
	t := &Tenure{backend: b, grant: g, key: key, holder: h, kept: make(chan struct{}), last: h.Token}
	t.grant.Mode = fence.Exclusive
	t.life, t.end = context.WithCancelCause(context.Background())
	go t.keep(until)
	return t
}

// Grant returns what was granted. The owner is what the key's value has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when a renewal finds that the key is the tenure's no more, or when
// no renewal was answered for the TTL. That TTL begins when the last request that was answered
// was sent.
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
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	freed, err := t.backend.bucket.release(ctx, t.key, t.grant.Owner, last)
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("natslock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("natslock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// keep renews the lease until the tenure ends, every third of the TTL, and more often where
// there was no answer.
func (t *Tenure) keep(until time.Time) {
	defer close(t.kept)
	ttl := t.backend.ttl
	wait := ttl / 3
	for {
		if attempt.Sleep(t.life, min(wait, time.Until(until))) != nil {
			return
		}
		asked := time.Now()
		if !asked.Before(until) {
			t.end(lock.ErrCutOff)
			return
		}
		held, err := t.renewals.Ask("natslock", t.grant.Scope, func() (bool, error) { return t.renew(until) })
		switch {
		case err != nil:
			wait = ttl / 10
		case !held:
			t.end(lock.ErrLost)
			return
		default:
			wait, until = ttl/3, asked.Add(ttl)
		}
	}
}

// renew writes the key anew, and waits for the answer until then.
func (t *Tenure) renew(until time.Time) (held bool, err error) {
	ctx, cancel := context.WithDeadline(t.life, until)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	revision, held, err := t.backend.bucket.keep(ctx, t.key, t.holder, t.backend.ttl, t.last)
	if held {
		t.last = revision
	}
	return held, err
}

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.renewals.Listen(t.life, f) }
