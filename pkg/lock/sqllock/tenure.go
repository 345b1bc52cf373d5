package sqllock

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in a table.
type Tenure struct {
	table  *table
	ticket ticket
	grant  lock.Grant
	life   attempt.Life
}

var (
	_ lock.Renewer    = (*Tenure)(nil)
	_ lock.Extensible = (*Tenure)(nil)
)

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(t ticket, token fence.Token, until time.Time) lock.Tenure {
	tenure := &Tenure{table: b.table, ticket: t}
	tenure.grant = lock.Grant{Scope: t.scope, Owner: t.owner, Token: token}
	tenure.life.Begin(context.Background())
	r := attempt.Renewal{Package: "sqllock", Scope: t.scope, TTL: b.ttl, Renew: tenure.renew}
	if b.fixed {
		tenure.life.Fixed(until, r)
		return &Lease{tenure}
	}
	tenure.life.Keep(until, r)
	return tenure
}

// Grant returns what was granted. The owner is what the table has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the database says at a renewal that the lease is over or
// another's, or when the database has answered no renewal for the TTL. That TTL begins when
// the last request that was answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give
// ctx a deadline. Done is closed as soon as Unlock begins.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.life.Release()
	freed, doubt, err := t.table.own(ctx, t.table.free, t.ticket, 0)
	if !freed {
		err = cmp.Or(doubt, err) // if the lock is gone, nobody knows by which request
	}
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("sqllock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("sqllock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// renew asks for a new lease.
func (t *Tenure) renew(ctx context.Context, lease time.Duration) (held bool, err error) {
	held, _, err = t.table.own(ctx, t.table.renew, t.ticket, lease)
	return held, err
}

// Extend is as lock.Extensible says.
func (t *Tenure) Extend(ctx context.Context, d time.Duration) error { return t.life.Extend(ctx, d) }

// OnRenewal is as lock.Renewer says. Nothing renews a Lease.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.life.OnRenewal(f) }
