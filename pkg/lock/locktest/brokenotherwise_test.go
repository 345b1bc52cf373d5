package locktest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
	}), []string{
		"a context that is done asks for no shared lock", "a reader's wait ends as a writer's does"}},
	{"a reader's call outlives its context", rlocking(func(t lock.Tenure, err error, ctx context.Context) (lock.Tenure, error) {
		if err != nil && ctx.Err() == nil {
			time.Sleep(5 * ttl)
		}
		return t, err
	}), []string{"a reader's loss is as a writer's"}},
	{"a reader's unlock without an answer returns nil", readerChanging(answering, both), []string{"a reader's loss is as a writer's"}},
	{"a reader's loss is forgotten at the unlock", readerChanging(forgettingLoss, both), []string{"a reader's loss is as a writer's"}},
	{"a writer who waits for a reader does not hear of its crash", from(sharing, deafTo(fence.Shared)), []string{"a crash serves those who wait in either mode"}},
	{"a reader who waits for a writer does not hear of its crash", from(sharing, deafTo(fence.Exclusive)), []string{"a crash serves those who wait in either mode"}},
	{"a trylock's unlock without an answer returns nil", trying(answering), []string{"a trylock's tenure ends as a lock's does"}},
	{"a trylock's loss is forgotten at the unlock", trying(forgettingLoss), []string{"a trylock's tenure ends as a lock's does"}},
	{"a trylock's unlock under a context that is done is forgotten", opening(func(c *locktest.Client) {
		c.Backend = methods{forgetful(c.TryLock), c.Lock}
	}), []string{"a trylock's tenure ends as a lock's does"}},
	{"a trylock that fails ends the renewal", renewalEnds(false, func(err error, _ context.Context) bool { return errors.Is(err, lock.ErrLocked) }),
		[]string{
			"a living holder keeps the lock", "a living holder that has waited keeps the lock",
			"a holder that was cut off for a moment keeps the lock or is told",
			"a holder over a service restart keeps the lock or is told"}},
	{"a waiter who gives up ends the renewal", renewalEnds(false, func(_ error, ctx context.Context) bool { return ctx.Err() != nil }),
		[]string{"a living holder keeps the lock"}},
	{"a writer's trylock that fails keeps readers out", from(sharing, keepingOut(func(c *locktest.Client, keep func(scope string) (end func())) {
		inner := *c
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.TryLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				keep(scope)
			}
			return t, err
		}, c.Lock}
	})), []string{
		"readers keep a writer out", "modes of one client exclude each other",
		"a reader's unlock is as a writer's", "a crashed reader leaves the others"}},
	{"a writer that crashes as it waits keeps readers out", from(sharing, keepingOut(func(c *locktest.Client, keep func(scope string) (end func())) {
		inner := *c
		var crashed atomic.Bool
		c.Crash = func() { crashed.Store(true); inner.Crash() }
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			end := keep(scope)
			t, err := inner.Lock(ctx, scope)
			if !crashed.Load() {
				end()
			}
			return t, err
		}}
	})), []string{"readers and writers are served in their order", "a crash serves those who wait in either mode"}},
	{"a tryrlock waits for a while", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := s.TryRLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				time.Sleep(ttl / 4)
			}
			return t, err
		}, s.RLock}
	}), []string{"a tryrlock does not wait"}},
	{"a reader draws its token before it waits", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{s.TryRLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			draw, err := s.RLock(ctx, "draw "+scope) // one counter serves all scopes
			if err != nil {
				return nil, err
			}
			token := draw.Grant().Token
			_ = draw.Unlock(ctx)
			return changing(s.RLock, func(t *tenure) {
				t.grant = func(g lock.Grant) lock.Grant { g.Token = token; return g }
			})(ctx, scope)
		}}
	}), []string{"tokens grow over both modes"}},
	{"an extension under a context that is done is said to be made", from(leased, leasing(func(t *leasedTenure) {
		inner, until := t.extend, time.Time{}
		t.extend = func(ctx context.Context, d time.Duration) error {
			if ctx.Err() == nil {
				return inner(ctx, d)
			}
			until = time.Now().Add(d)
			return nil
		}
		t.until = func(is time.Time) time.Time {
			if until.IsZero() {
				return is
			}
			return until
		}
	})), []string{"an extension under a context that is done is made or says so"}},
	{"an extension under a context that is done fails, and Until moves", from(leased, leasing(func(t *leasedTenure) {
		inner, failed := t.extend, time.Duration(0)
		t.extend = func(ctx context.Context, d time.Duration) error {
			if ctx.Err() != nil {
				failed = d
			}
			return inner(ctx, d)
		}
		t.until = func(is time.Time) time.Time { return is.Add(failed) }
	})), []string{"an extension under a context that is done is made or says so"}},
	{"a reader's Until says too much", from(leased, opening(func(c *locktest.Client) {
		s := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{c.Backend, methods{lying(s.TryRLock), lying(s.RLock)}}
	})), []string{"a reader's lease is as a writer's"}},
	{"a trylock's lease has no Until", from(lapsing, opening(func(c *locktest.Client) {
		s := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{methods{changing(c.TryLock, func(*tenure) {}), c.Lock}, methods{s.TryRLock, s.RLock}}
	})), []string{"a trylock's lease is as a lock's"}},
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

// lying grants leases of which Until says too much.
func lying(attempt lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := attempt(ctx, scope)
		if err != nil {
			return nil, err
		}
		return lapsingTenure{t, late{t.(lock.Expirer)}}, nil
	}
}

type late struct{ lock.Expirer }

func (l late) Until() time.Time { return l.Expirer.Until().Add(ttl) }

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

// forgettingLoss has Err say nothing more after an Unlock whose context is not done.
func forgettingLoss(t *tenure) {
	var forgotten atomic.Bool
	t.unlock = func(ctx context.Context, err error) error {
		if ctx.Err() == nil {
			forgotten.Store(true)
		}
		return err
	}
	t.err = func(err error) error {
		if forgotten.Load() {
			return nil
		}
		return err
	}
}

// deafTo has one that waits for the other mode, while a holder in this mode crashes, wait until its context is done.
func deafTo(mode fence.Mode) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		var mu sync.Mutex
		crashed := make(map[string]bool) // by scope, whether one of its holders in this mode did
		knows := func(scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			return crashed[scope]
		}
		deaf := func(wait lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				before := knows(scope)
				t, err := wait(ctx, scope)
				if err != nil || before || !knows(scope) || t.Grant().Mode == mode {
					return t, err
				}
				_ = t.Unlock(ctx)
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}
		return opening(func(c *locktest.Client) {
			var held noted
			inner, sharer := *c, c.Backend.(lock.Sharer)
			note := func(attempt lockFunc) lockFunc {
				return changing(attempt, func(t *tenure) {
					if g := t.Tenure.Grant(); g.Mode == mode {
						held.note(g.Scope)
					}
				})
			}
			c.Crash = func() {
				mu.Lock()
				for _, scope := range held.all() {
					crashed[scope] = true
				}
				mu.Unlock()
				inner.Crash()
			}
			c.Backend = sharingMethods{
				methods{note(inner.TryLock), note(deaf(inner.Lock))},
				methods{note(sharer.TryRLock), note(deaf(sharer.RLock))},
			}
		})(s)
	}
}

// renewalEnds lets the tenure that is current end where another one, or its own client, asks for the lock in vain, in some way.
func renewalEnds(own bool, way func(err error, ctx context.Context) bool) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		shared := new(service)
		telling := func(all *service, attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				inner, err := attempt(ctx, scope)
				all.mu.Lock()
				defer all.mu.Unlock()
				if err == nil {
					t := &tenure{Tenure: inner}
					all.granted = append(all.granted, t)
					return t, nil
				}
				for _, t := range all.granted {
					if t.Grant().Scope == scope && !isClosed(t.Done()) && way(err, ctx) {
						expiring(t)
					}
				}
				return nil, err
			}
		}
		return opening(func(c *locktest.Client) {
			all := shared
			if own {
				all = new(service)
			}
			c.Backend = methods{telling(all, c.TryLock), telling(all, c.Lock)}
		})(s)
	}
}

// keepingOut refuses readers of a lock, in all clients, from when a writer's client keeps them out until it ends that.
func keepingOut(change func(c *locktest.Client, keep func(scope string) (end func()))) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		var mu sync.Mutex
		kept := make(map[string]int)
		keep := func(scope string, n int) {
			mu.Lock()
			defer mu.Unlock()
			kept[scope] += n
		}
		return opening(func(c *locktest.Client) {
			inner := c.Backend.(lock.Sharer)
			change(c, func(scope string) func() {
				keep(scope, 1)
				return func() { keep(scope, -1) }
			})
			out := func(scope string) bool {
				mu.Lock()
				defer mu.Unlock()
				return kept[scope] > 0
			}
			c.Backend = sharingMethods{c.Backend, methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
				if out(scope) {
					return nil, lock.ErrLocked
				}
				return inner.TryRLock(ctx, scope)
			}, func(ctx context.Context, scope string) (lock.Tenure, error) {
				for out(scope) && ctx.Err() == nil {
					time.Sleep(ttl / 1000)
				}
				return inner.RLock(ctx, scope)
			}}}
		})(s)
	}
}
