package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing/synctest"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenRefusals are subjects whose errors say something else than what happened.
var brokenRefusals = []brokenBackend{
	{"a trylock that fails has an unknown outcome", opening(func(c *locktest.Client) {
		c.Backend = methods{uncertainly(c.TryLock), c.Lock}
	}), []string{"a refusal says what is known"}},
	{"a tryrlock that fails has an unknown outcome", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{uncertainly(s.TryRLock), s.RLock}
	}), []string{"a writer keeps readers out"}},
	{"an unlock of what is over has an unknown outcome", unlocking(func(err error) error {
		if errors.Is(err, lock.ErrLost) {
			return &lock.UnknownError{Op: "unlock", Err: err}
		}
		return err
	}), []string{"a refusal says what is known"}},
	{"an unlock of what is over has an error of its own", unlocking(func(err error) error {
		if errors.Is(err, lock.ErrLost) {
			return fence.Lost.New("the lock is not held")
		}
		return err
	}), []string{
		"a second unlock frees nothing", "a late unlock frees nothing",
		"a late unlock says so when the successor has gone", "an unlock is the tenure's",
		"an unlock of what is over says so", "of two unlocks at once one frees",
		"an unlock without an answer says so", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's", "a refusal says what is known"}},
	{"an unlock of what is over says that the lock is held", unlocking(func(err error) error {
		if errors.Is(err, lock.ErrLost) {
			return fmt.Errorf("%w: %w", lock.ErrLocked, err)
		}
		return err
	}), []string{"a refusal says what is known"}},
	{"a trylock of a held lock says that a tenure is over", refusing(lock.ErrLost), []string{"a refusal says what is known"}},
	{"a trylock of a held lock says that it is cut off", refusing(lock.ErrCutOff), []string{"a refusal says what is known"}},
	{"after an unlock without an answer Err says that the tenure was lost", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			var unanswered atomic.Bool
			t.unlock = func(_ context.Context, err error) error {
				if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
					unanswered.Store(true)
				}
				return err
			}
			t.err = func(err error) error {
				if err == nil && unanswered.Load() {
					return lock.ErrLost
				}
				return err
			}
		}
	}), []string{"an unlock without an answer says so", "a trylock's tenure ends as a lock's does"}},
	{"a waiter that is cut off leaves a place, and says that it left none", leavesPlace, []string{"a wait without an answer says what it leaves"}},
}

// uncertainly says of a refusal that its outcome is unknown.
func uncertainly(attempt lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := attempt(ctx, scope)
		if errors.Is(err, lock.ErrLocked) {
			return nil, &lock.UnknownError{Op: "trylock", Scope: scope, Err: err}
		}
		return t, err
	}
}

// leavesPlace has a waiter that is cut off leave a place in the queue for half a TTL, and say that nothing was left.
func leavesPlace(s locktest.Subject) locktest.Subject {
	open := s.Open
	return opening(func(c *locktest.Client) {
		inner := *c
		var crashed atomic.Bool
		c.Crash = func() { crashed.Store(true); inner.Crash() }
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			if err == nil || !crashed.Load() {
				return t, err
			}
			if ghost, err := open(context.Background()); err == nil {
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), ttl/2)
					defer cancel()
					if t, err := ghost.Lock(ctx, scope); err == nil {
						<-ctx.Done()
						_ = t.Unlock(context.Background())
					}
				}()
				synctest.Wait() // until it is in the queue
			}
			return nil, fence.Definite.New("gave up, and nothing is left")
		}}
	})(s)
}

// refusing says something else, too, of a lock that is held.
func refusing(also error) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		try := c.TryLock
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := try(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				err = fmt.Errorf("%w: %w", err, also)
			}
			return t, err
		}, c.Lock}
	})
}
