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
	calls  atomic.Int64 // of Unlock

	// Calls of Unlock ask one after the other: on several nodes each could free a part,
	// and none would know that the lock is free.
	freeing sync.Mutex

	renewals attempt.Renewals

	life  context.Context
	end   context.CancelCauseFunc
	timer *time.Timer // of the first renewal, or of the end of a fixed lease
}

var _ lock.Renewer = (*Tenure)(nil)

// errReleased is why the life of a tenure ends that was unlocked.
var errReleased = errors.New("released")

// newTenure begins a tenure that surely lasts until then.
func (l *locker) newTenure(t ticket, token fence.Token, until time.Time) lock.Tenure {
	tenure := &Tenure{locker: l, ticket: t}
	tenure.grant = lock.Grant{Scope: t.scope, Owner: t.owner, Token: token, Mode: t.mode}
	tenure.life, tenure.end = context.WithCancelCause(context.Background())
	if l.options.fixed {
		return newLease(tenure, until)
	}
	tenure.timer = time.AfterFunc(min(l.ttl/3, time.Until(until)), func() { tenure.keep(until) })
	return tenure
}

// Grant returns what was granted. The owner is what Redis has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when Redis says at a renewal that another owner has the lock,
// or nobody, or when Redis has answered no renewal for the TTL. That TTL begins when the
// last request that was answered was sent.
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
	call := t.ticket.owner + "#" + strconv.FormatInt(t.calls.Add(1), 10)
	freed, err := begin(ctx, func() (bool, error) {
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

// keep renews the lease every third of the TTL, and more often where there was no answer,
// until the tenure ends.
func (t *Tenure) keep(until time.Time) {
	ttl := t.locker.ttl
	for t.life.Err() == nil {
		asked, wait := time.Now(), ttl/3
		if !asked.Before(until) {
			t.end(lock.ErrCutOff)
			return
		}
		held, err := t.renewals.Ask("redislock", t.grant.Scope, func() (bool, error) { return t.renew(until, ttl) })
		switch {
		case errors.Is(err, redis.ErrClosed): // there will be no answer
			t.end(lock.ErrCutOff)
			return
		case err != nil:
			wait = ttl / 10
		case !held:
			t.end(lock.ErrLost)
			return
		default:
			until = asked.Add(t.locker.service.valid(ttl))
		}
		_ = attempt.Sleep(t.life, min(wait, time.Until(until)))
	}
}

// renew asks for a lease of d, and waits for the answer until then.
func (t *Tenure) renew(until time.Time, d time.Duration) (bool, error) {
	ctx, cancel := context.WithDeadline(t.life, until)
	defer cancel()
	return begin(ctx, func() (bool, error) {
		return t.locker.service.renew(ctx, t.ticket, d)
	}).within(ctx)
}

// OnRenewal is as lock.Renewer says. Nothing renews a Lease.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.renewals.Listen(t.life, f) }
