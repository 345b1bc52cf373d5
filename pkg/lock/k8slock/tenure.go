package k8slock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a Lease.
type Tenure struct {
	leases *leases
	name   string // the Lease's
	ttl    time.Duration
	grant  lock.Grant

	renewals attempt.Renewals

	life context.Context
	end  context.CancelCauseFunc
	kept chan struct{} // closed when nobody renews the Lease any more

	last lease // as the tenure has left it; only keep changes it
}

var _ lock.Renewer = (*Tenure)(nil)

// errReleased is why the life of a tenure ends that was unlocked.
var errReleased = errors.New("released")

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(scope, name string, l lease, until time.Time) *Tenure {
	t := &Tenure{
		leases: b.leases, name: name, ttl: b.ttl, last: l, kept: make(chan struct{}),
		grant: lock.Grant{Scope: scope, Owner: l.holder.Owner, Token: fence.Token(l.version)},
	}
	t.life, t.end = context.WithCancelCause(context.Background())
	go t.keep(until)
	return t
}

// Grant returns what was granted. The owner is the Lease's holderIdentity.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the Lease is found without the tenure at a renewal, or when no renewal was answered for
// the TTL. That TTL begins when the last request that was answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error {
	if cause := context.Cause(t.life); cause != errReleased {
		return cause
	}
	return nil
}

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give ctx a deadline. Done is closed as
// soon as Unlock begins.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.end(errReleased)
	<-t.kept
	_, freed, err := t.leases.own(ctx, t.name, t.last, t.grant.Owner, func(last lease) (lease, bool, error) {
		freed, err := t.leases.free(ctx, t.name, last)
		return last, freed, err
	})
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("k8slock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("k8slock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// keep renews the Lease until the tenure ends, every third of the TTL, and more often where there was no answer.
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
		held, err := t.renewals.Ask("k8slock", t.grant.Scope, func() (bool, error) { return t.renew(until) })
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

// renew writes the Lease anew, and waits for the answer until then.
func (t *Tenure) renew(until time.Time) (held bool, err error) {
	ctx, cancel := context.WithDeadline(t.life, until)
	defer cancel()
	left, held, err := t.leases.own(ctx, t.name, t.last, t.grant.Owner, func(last lease) (lease, bool, error) {
		h := last.holder
		h.Token = t.grant.Token
		return t.leases.write(ctx, t.name, last, last.spec, h)
	})
	if held {
		t.last = left
	}
	return held, err
}

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.renewals.Listen(t.life, f) }
