package sqllock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in a table.
type Tenure struct {
	table  *table
	ttl    time.Duration
	ticket ticket
	grant  lock.Grant

	renewals attempt.Renewals

	life  context.Context
	end   context.CancelCauseFunc
	timer *time.Timer // of the first renewal, or of the end of a fixed lease
}

var _ lock.Renewer = (*Tenure)(nil)

// errReleased is why the life of a tenure ends that was unlocked.
var errReleased = errors.New("released")

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(t ticket, token fence.Token, until time.Time) lock.Tenure {
	tenure := &Tenure{table: b.table, ttl: b.ttl, ticket: t}
	tenure.grant = lock.Grant{Scope: t.scope, Owner: t.owner, Token: token}
	tenure.life, tenure.end = context.WithCancelCause(context.Background())
	if b.fixed {
		return newLease(tenure, until)
	}
	tenure.timer = time.AfterFunc(min(b.ttl/3, time.Until(until)), func() { tenure.keep(until) })
	return tenure
}

// Grant returns what was granted. The owner is what the table has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the database says at a renewal that the lease is over or
// another's, or when the database has answered no renewal for the TTL. That TTL begins when
// the last request that was answered was sent.
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
	t.timer.Stop()
	freed, err := t.table.change(ctx, t.table.free, t.ticket, 0)
	if closed(err) { // another connection may tell; if the lock is gone, nobody knows by which request
		if again, _ := t.table.change(ctx, t.table.free, t.ticket, 0); again {
			return nil
		}
	}
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("sqllock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("sqllock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// keep renews the lease every third of the TTL, and more often where there was no answer,
// until the tenure ends.
func (t *Tenure) keep(until time.Time) {
	for t.life.Err() == nil {
		asked, wait := time.Now(), t.ttl/3
		if !asked.Before(until) {
			t.end(lock.ErrCutOff)
			return
		}
		held, err := t.renewals.Ask("sqllock", t.grant.Scope, func() (bool, error) { return t.renew(until) })
		switch {
		case err != nil:
			wait = t.ttl / 10
		case !held:
			t.end(lock.ErrLost)
			return
		default:
			until = asked.Add(t.ttl)
		}
		_ = attempt.Sleep(t.life, min(wait, time.Until(until)))
	}
}

// renew asks for a new lease, and waits for the answer until then.
func (t *Tenure) renew(until time.Time) (held bool, err error) {
	ctx, cancel := context.WithDeadline(t.life, until)
	defer cancel()
	return t.table.change(ctx, t.table.renew, t.ticket, t.ttl)
}

// OnRenewal is as lock.Renewer says. Nothing renews a Lease.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.renewals.Listen(t.life, f) }
