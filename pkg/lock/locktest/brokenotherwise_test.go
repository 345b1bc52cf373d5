package locktest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenOtherwise are subjects whose Lock is right, and that break where the lock is taken
// otherwise.
var brokenOtherwise = []brokenBackend{
	{"a reader is told of losses only", readerChanging(func(t *tenure) {
		t.done = make(chan struct{})
		context.AfterFunc(closing(t.Tenure.Done()), func() {
			if !t.unlocked.Load() {
				close(t.done)
			}
		})
	}, both), []string{"a reader's unlock is as a writer's", "a reader's loss is as a writer's"}},
	{"two unlocks at once of a reader both return nil", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{hasty(s.TryRLock), hasty(s.RLock)}
	}), []string{"a reader's unlock is as a writer's"}},
	{"a reader's unlock under a context that is done is forgotten", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{forgetful(s.TryRLock), forgetful(s.RLock)}
	}), []string{"a reader's unlock is as a writer's"}},
	{"a reader's grant that comes with the cancellation is lost", rlocking(func(t lock.Tenure, err error, ctx context.Context) (lock.Tenure, error) {
		time.Sleep(ttl / 1000) // in which the cancellation comes
		if err == nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return t, err
	}), []string{"a reader's wait ends as a writer's does"}},
	{"a reader's wait that ends says no more than that", rlocking(func(t lock.Tenure, err error, _ context.Context) (lock.Tenure, error) {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, errors.New("waited in vain")
		}
		return t, err
	}), []string{"a reader's wait ends as a writer's does"}},
	{"a reader's call outlives its context", rlocking(func(t lock.Tenure, err error, ctx context.Context) (lock.Tenure, error) {
		if err != nil && ctx.Err() == nil {
			time.Sleep(5 * ttl)
		}
		return t, err
	}), []string{"a reader's loss is as a writer's"}},
	{"a reader's unlock without an answer returns nil", readerChanging(answering, both), []string{"a reader's loss is as a writer's"}},
	{"a reader's loss is forgotten at the unlock", readerChanging(forgettingLoss, both), []string{"a reader's loss is as a writer's"}},
	{"who waits for a reader does not hear of its crash", from(sharing, deafToReaders), []string{"a crash serves those who wait in either mode"}},
	{"a trylock's unlock without an answer returns nil", trying(answering), []string{"a trylock's tenure ends as a lock's does"}},
	{"a trylock's loss is forgotten at the unlock", trying(forgettingLoss), []string{"a trylock's tenure ends as a lock's does"}},
	{"a trylock's unlock under a context that is done is forgotten", opening(func(c *locktest.Client) {
		c.Backend = methods{forgetful(c.TryLock), c.Lock}
	}), []string{"a trylock's tenure ends as a lock's does"}},
	{"a second extension is forgotten", from(leased, leasing(func(t *leasedTenure) {
		inner, calls, until := t.extend, 0, time.Time{}
		t.extend = func(ctx context.Context, d time.Duration) error {
			if calls++; calls == 1 || isClosed(t.tenure.Done()) {
				return inner(ctx, d)
			}
			until = time.Now().Add(d)
			return nil
		}
		t.until = func(is time.Time) time.Time {
			if until.After(is) {
				return until
			}
			return is
		}
	})), []string{"an extended lease goes on"}},
	{"Until stays where a shorter extension cuts off the lease", from(leased, leasing(func(t *leasedTenure) {
		var longest time.Time
		t.until = func(is time.Time) time.Time {
			if is.After(longest) {
				longest = is
			}
			return longest
		}
	})), []string{"an extended lease goes on"}},
}

// rlocking changes how RLock ends.
func rlocking(end func(lock.Tenure, error, context.Context) (lock.Tenure, error)) func(locktest.Subject) locktest.Subject {
	return reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{s.TryRLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := s.RLock(ctx, scope)
			return end(t, err, ctx)
		}}
	})
}

// answering has an Unlock without an answer return nil.
func answering(t *tenure) {
	t.unlock = func(_ context.Context, err error) error {
		if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
			return nil
		}
		return err
	}
}

// forgettingLoss has Err say nothing more after Unlock.
func forgettingLoss(t *tenure) {
	t.err = func(err error) error {
		if t.unlocked.Load() {
			return nil
		}
		return err
	}
}

// deafToReaders has a writer that waits while a reader crashes wait until its context is done.
func deafToReaders(s locktest.Subject) locktest.Subject {
	var mu sync.Mutex
	crashed := make(map[string]bool) // by scope, whether one of its readers did
	knows := func(scope string) bool {
		mu.Lock()
		defer mu.Unlock()
		return crashed[scope]
	}
	return opening(func(c *locktest.Client) {
		var read noted
		inner, sharer := *c, c.Backend.(lock.Sharer)
		note := func(t *tenure) {
			if g := t.Tenure.Grant(); g.Mode == fence.Shared {
				read.note(g.Scope)
			}
		}
		c.Crash = func() {
			mu.Lock()
			for _, scope := range read.all() {
				crashed[scope] = true
			}
			mu.Unlock()
			inner.Crash()
		}
		c.Backend = sharingMethods{methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			before := knows(scope)
			t, err := inner.Lock(ctx, scope)
			if err != nil || before || !knows(scope) {
				return t, err
			}
			_ = t.Unlock(ctx)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, methods{changing(sharer.TryRLock, note), changing(sharer.RLock, note)}}
	})(s)
}
