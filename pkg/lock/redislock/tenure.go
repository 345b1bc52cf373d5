package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in Redis.
type Tenure struct {
	locker *locker
	ticket ticket
	grant  lock.Grant
	life   attempt.Life
	calls  atomic.Int64 // of Unlock

	// Calls of Unlock ask one after the other: on several nodes each could free a part,
	// and none would know that the lock is free.
	freeing sync.Mutex
}

var (
	_ lock.Renewer    = (*Tenure)(nil)
	_ lock.Extensible = (*Tenure)(nil)
)

// newTenure begins a tenure that surely lasts until then.
func (l *locker) newTenure(t ticket, token fence.Token, until time.Time) lock.Tenure {
	tenure := &Tenure{locker: l, ticket: t}
	tenure.grant = lock.Grant{Scope: t.scope, Owner: t.owner, Token: token, Mode: t.mode}
	tenure.life.Begin(context.Background())
	r := attempt.Renewal{Package: "redislock", Scope: t.scope, TTL: l.ttl, Sure: l.service.valid, Renew: tenure.renew}
	if l.options.fixed {
		tenure.life.Fixed(until, r)
		return &Lease{tenure}
	}
	tenure.life.Keep(until, r)
	return tenure
}

// Grant returns what was granted. The owner is what Redis has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when Redis says at a renewal that another owner has the lock,
// or nobody, or when Redis has answered no renewal for the TTL. That TTL begins when the
// last request that was answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give
// ctx a deadline. Done is closed as soon as Unlock begins.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.life.Release()
	call := t.ticket.owner + "#" + strconv.FormatInt(t.calls.Add(1), 10)
	freed, err := begin(ctx, t.locker.crew, func() (bool, error) {
		t.freeing.Lock()
		defer t.freeing.Unlock()
		return t.locker.service.free(ctx, t.ticket, t.locker.ttl, call)
	}).within(ctx)
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("redislock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("redislock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// renew asks for a new lease. A fixed one may become shorter.
func (t *Tenure) renew(ctx context.Context, lease time.Duration) (held bool, err error) {
	by := longer
	if time.Now().Add(lease).Before(t.life.Until()) {
		by = shorter
	}
	held, err = begin(ctx, t.locker.crew, func() (bool, error) {
		return t.locker.service.renew(ctx, t.ticket, lease, by)
	}).within(ctx)
	switch {
	case errors.Is(err, redis.ErrClosed):
		err = fmt.Errorf("%w: %w", lock.ErrCutOff, err)
	case refused(err):
		err = fence.Definite.Wrap(err)
	}
	return held, err
}

// Extend is as lock.Extensible says.
func (t *Tenure) Extend(ctx context.Context, d time.Duration) error { return t.life.Extend(ctx, d) }

// OnRenewal is as lock.Renewer says. Nothing renews a Lease.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.life.OnRenewal(f) }
