package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenRenewals are subjects whose tenures end, or are not told of their end, after something has happened to the client or the service.
var brokenRenewals = []brokenBackend{
	{"one renewal that fails is the last one", opening(func(c *locktest.Client) {
		inner, all := *c, new(service)
		c.Backend = methods{changing(inner.TryLock, all.note), changing(inner.Lock, all.note)}
		c.Wake = func() {
			inner.Wake()
			for _, t := range all.all() {
				if !isClosed(t.Done()) {
					t.silently()
				}
			}
		}
	}), []string{"a holder that was cut off for a moment keeps the lock or is told"}},
	{"who lost a lock is renewed no more", opening(func(c *locktest.Client) {
		inner := *c
		var lost atomic.Bool
		renewed := func(t *tenure) {
			if lost.Load() {
				t.silently()
			}
			context.AfterFunc(closing(t.Tenure.Done()), func() { lost.Store(lost.Load() || t.Tenure.Err() != nil) })
		}
		c.Backend = methods{changing(inner.TryLock, renewed), changing(inner.Lock, renewed)}
	}), []string{}},
	{"a grant that comes as the context ends is not renewed", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			time.Sleep(ttl / 1000) // in which the cancellation comes
			if err == nil && ctx.Err() != nil {
				short := &tenure{Tenure: t}
				short.silently()
				return short, nil
			}
			return t, err
		}}
	}), []string{"a living holder that has waited keeps the lock"}},
	{"a restart ends the renewal of leases, and the holder does not learn it", endingAtRestart(ttl, false), []string{
		"a holder over a service restart keeps the lock or is told"}},
	{"a restart ends each tenure, and its holder learns it", endingAtRestart(0, true), []string{
		"a service restart keeps the holder"}},
	{"after a restart the last to come is served first", from(sharing, func(s locktest.Subject) locktest.Subject {
		var restarted atomic.Bool
		s.Restart = func(context.Context) error { restarted.Store(true); return nil }
		return serving(queue{next: once(&restarted, lastFirst)})(s)
	}), []string{
		"a service restart is for readers as for writers", "a waiter outlasts a service restart"}},
	{"after a crash the last to come is served first", from(sharing, afterCrash(lastFirst)), []string{
		"the order outlives a holder that crashes"}},
	{"after a crash the second of three is served first", from(sharing, afterCrash(func(modes []fence.Mode) int {
		if len(modes) == 3 {
			return 1
		}
		return 0
	})), []string{"the order outlives a holder that crashes"}},
	{"the seventh to come is served first", from(sharing, serving(queue{next: func(modes []fence.Mode) int {
		if len(modes) == 7 {
			return 6
		}
		return 0
	}})), []string{"waiters are served in their order"}},
	{"32 can wait at the most", func(s locktest.Subject) locktest.Subject {
		var waiting atomic.Int64
		return opening(func(c *locktest.Client) {
			inner := c.Lock
			c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
				defer waiting.Add(-1)
				if waiting.Add(1) > 32 {
					return nil, fence.Definite.New("too many wait")
				}
				return inner(ctx, scope)
			}}
		})(s)
	}, []string{"many contenders come in one at a time"}},
	{"a goroutine stays for each unlock without an answer", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, changing(inner.Lock, func(t *tenure) {
			t.unlock = func(_ context.Context, err error) error {
				if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
					go time.Sleep(10 * time.Minute)
				}
				return err
			}
		})}
	}), []string{"nothing goes on after the end"}},
	{"tokens restart after ten TTLs of idleness", counting(func(s *service, n *fence.Token) {
		if time.Since(s.since) > 10*ttl && len(s.granted) > 1 {
			*n = 0
		}
	}), []string{"tokens grow after idleness"}},
	{"a restart forgets the tokens of readers", from(sharing, func(s locktest.Subject) locktest.Subject {
		var (
			mu          sync.Mutex
			last, saved fence.Token
		)
		s.Restart = func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			last = saved
			return nil
		}
		numbered := func(saves bool) func(*tenure) {
			return func(t *tenure) {
				mu.Lock()
				defer mu.Unlock()
				last++
				token := last
				if saves {
					saved = last
				}
				t.grant = func(g lock.Grant) lock.Grant { g.Token = token; return g }
			}
		}
		return opening(func(c *locktest.Client) {
			r := c.Backend.(lock.Sharer)
			c.Backend = sharingMethods{
				methods{changing(c.TryLock, numbered(true)), changing(c.Lock, numbered(true))},
				methods{changing(r.TryRLock, numbered(false)), changing(r.RLock, numbered(false))},
			}
		})(s)
	}), []string{"grants are new after service restarts"}},
	{"the client's own trylock that fails ends the renewal", renewalEnds(true, func(err error, _ context.Context) bool { return errors.Is(err, lock.ErrLocked) }), []string{"a living holder keeps the lock"}},
	{"the client's own wait in vain ends the renewal", renewalEnds(true, func(_ error, ctx context.Context) bool { return ctx.Err() != nil }), []string{"a living holder keeps the lock"}},
	{"a second unlock ends the renewal of the client's later tenure", unlockEndsRenewal((*tenure).released), []string{"a living holder keeps the lock when it releases another"}},
	{"a late unlock ends the renewal of the client's later tenure", unlockEndsRenewal(isLost), []string{"a living holder keeps the lock when it releases another"}},
	{"a client that waits renews nothing", opening(func(c *locktest.Client) {
		inner, own := *c, new(service)
		c.Backend = methods{changing(inner.TryLock, own.note), func(ctx context.Context, scope string) (lock.Tenure, error) {
			defer time.AfterFunc(ttl+ttl/10, func() {
				for _, t := range own.all() {
					_ = t.Tenure.Unlock(context.Background())
				}
			}).Stop()
			return changing(inner.Lock, own.note)(ctx, scope)
		}}
	}), []string{
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder"}},
	{"ten locks of a client are renewed", opening(func(c *locktest.Client) {
		var held atomic.Int64
		counted := func(t *tenure) {
			if held.Add(1) > 10 {
				expiring(t)
			}
			context.AfterFunc(closing(t.Tenure.Done()), func() { held.Add(-1) })
		}
		c.Backend = methods{changing(c.TryLock, counted), changing(c.Lock, counted)}
	}), []string{"a living holder keeps the lock when it releases another"}},
	{"the third renewal that fails is the last one", opening(func(c *locktest.Client) {
		inner, own, wakes := *c, new(service), 0
		c.Backend = methods{changing(inner.TryLock, own.note), changing(inner.Lock, own.note)}
		c.Wake = func() {
			inner.Wake()
			if wakes++; wakes < 3 {
				return
			}
			for _, t := range own.all() {
				expiring(t)
			}
		}
	}), []string{"a holder that was cut off for a moment keeps the lock or is told"}},
	{"a holder that woke up renews its successor's lease", keepingSuccessor, []string{"a holder that wakes up steals nothing"}},
	{"a trylock's renewal takes the lock from the successor", func(s locktest.Subject) locktest.Subject {
		all := new(service)
		return opening(func(c *locktest.Client) {
			inner, tries := *c, new(service)
			c.Backend = methods{changing(inner.TryLock, func(t *tenure) { tries.note(t); all.note(t) }), changing(inner.Lock, all.note)}
			c.Wake = func() {
				inner.Wake()
				if slices.ContainsFunc(tries.all(), isLost) {
					time.AfterFunc(ttl/2, func() { _ = all.last().Tenure.Unlock(context.Background()) })
				}
			}
		})(s)
	}, []string{"a holder that wakes up steals nothing"}},
	{"a client's second tenure of a lock is told of no loss", opening(func(c *locktest.Client) {
		had := make(map[string]bool)
		second := func(t *tenure) {
			scope := t.Tenure.Grant().Scope
			if had[scope] {
				t.endsBy()
			}
			had[scope] = true
		}
		c.Backend = methods{changing(c.TryLock, second), changing(c.Lock, second)}
	}), []string{"the holder is told in time", "a trylock's holder that wakes up is as a lock's"}},
	{"an unlock after a restart returns nil, and the lock is free some time later", func(s locktest.Subject) locktest.Subject {
		var restarts atomic.Int64
		s.Restart = func(context.Context) error { restarts.Add(1); return nil }
		return opening(func(c *locktest.Client) {
			try := c.TryLock
			late := func(t *tenure) {
				before := restarts.Load()
				t.unlock = func(ctx context.Context, err error) error {
					if err != nil || restarts.Load() == before {
						return err
					}
					if again, err := try(ctx, t.Grant().Scope); err == nil {
						time.AfterFunc(ttl/2, func() { _ = again.Unlock(context.Background()) })
					}
					return nil
				}
			}
			c.Backend = methods{changing(c.TryLock, late), changing(c.Lock, late)}
		})(s)
	}, []string{"a service restart keeps the holder"}},
	{"a second unlock is that of the client's only lock", unlockingOf(unlockingNext), []string{"an unlock is the tenure's", "a trylock's tenure ends as a lock's does"}},
	{"a start reserves 100 tokens, and more are given out", func(s locktest.Subject) locktest.Subject {
		var reserved, next fence.Token
		s.Restart = func(context.Context) error {
			reserved += 100
			next = reserved
			return nil
		}
		return counting(func(_ *service, n *fence.Token) {
			if next > 0 {
				*n, next = next, 0
			}
		})(s)
	}, []string{"grants are new after service restarts"}},
}

// unlockingNext: a second Unlock frees the client's later tenure of that lock, where the client has no other lock.
func unlockingNext(ctx context.Context, s *service, t *tenure, call int, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []*tenure
	for _, other := range s.granted {
		if clientOf(other) == clientOf(t) && !isClosed(other.Done()) {
			own = append(own, other)
		}
	}
	if call == 2 && t.released() && len(own) == 1 && own[0].Grant().Scope == t.Grant().Scope {
		return own[0].Tenure.Unlock(ctx)
	}
	return err
}

// unlockEndsRenewal: an Unlock of a tenure that is over in some way ends the renewal of the client's tenure of that lock.
func unlockEndsRenewal(over func(*tenure) bool) func(locktest.Subject) locktest.Subject {
	return unlockingOf(func(_ context.Context, s *service, t *tenure, _ int, err error) error {
		if !errors.Is(err, lock.ErrLost) || !over(t) {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, other := range s.granted {
			if clientOf(other) == clientOf(t) && other.Grant().Scope == t.Grant().Scope && !isClosed(other.Done()) {
				expiring(other)
			}
		}
		return err
	})
}

// keepingSuccessor has a lock whose holder crashes stay held where the client of a holder before it lost it and woke up.
func keepingSuccessor(s locktest.Subject) locktest.Subject {
	open := s.Open
	kept := new(service)
	return opening(func(c *locktest.Client) {
		inner, own := *c, new(service)
		c.Backend = methods{changing(inner.TryLock, own.note), changing(inner.Lock, own.note)}
		c.Wake = func() {
			inner.Wake()
			for _, t := range own.all() {
				if isLost(t) {
					kept.note(t)
				}
			}
		}
		c.Crash = func() {
			inner.Crash()
			for _, t := range own.all() {
				ghost, err := open(context.Background())
				renews := func(old *tenure) bool { return old.Grant().Scope == t.Grant().Scope && !old.unlocked.Load() }
				if err == nil && !isClosed(t.Done()) && slices.ContainsFunc(kept.all(), renews) {
					go ghost.Lock(context.Background(), t.Grant().Scope)
					time.Sleep(ttl / 1000) // until it is in the queue
				}
			}
		}
	})(s)
}

// silently lets a tenure end in the service after the TTL, and tells its holder nothing.
func (t *tenure) silently() {
	t.endsBy()
	expiring(t)
}

// endsBy has the holder learn of the end by end, or by its own Unlock, and by nothing else.
func (t *tenure) endsBy() (end func()) {
	t.done = make(chan struct{})
	end = sync.OnceFunc(func() { close(t.done) })
	t.unlock = func(_ context.Context, err error) error { end(); return err }
	return end
}

// endingAtRestart ends the tenures of exclusive locks some time after a restart.
func endingAtRestart(after time.Duration, told bool) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		var (
			mu   sync.Mutex
			ends []func()
		)
		s.Restart = func(context.Context) error {
			mu.Lock()
			for _, end := range ends {
				time.AfterFunc(after, end)
			}
			ends = nil
			mu.Unlock()
			time.Sleep(ttl / 1000) // in which those that end at once do
			return nil
		}
		return tenures(func(*service) func(*tenure) {
			return func(t *tenure) {
				inner, over := t.Tenure, t.endsBy()
				var ended atomic.Bool
				t.err = func(err error) error {
					switch {
					case ended.Load() && told:
						return lock.ErrLost
					case ended.Load():
						return nil
					}
					return err
				}
				context.AfterFunc(closing(inner.Done()), func() {
					if !ended.Load() {
						over()
					}
				})
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, func() {
					if isClosed(t.done) {
						return
					}
					ended.Store(true)
					if told {
						over()
					}
					_ = inner.Unlock(context.Background())
				})
			}
		})(s)
	}
}

// lastFirst has the last one served first.
func lastFirst(modes []fence.Mode) int { return len(modes) - 1 }

// once has those who wait served by another order once something has happened.
func once(happened *atomic.Bool, next func(modes []fence.Mode) int) func(modes []fence.Mode) int {
	return func(modes []fence.Mode) int {
		if happened.Load() {
			return next(modes)
		}
		return 0
	}
}

// afterCrash has those who wait served by another order once a client has crashed.
func afterCrash(next func(modes []fence.Mode) int) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		var crashed atomic.Bool
		return opening(func(c *locktest.Client) {
			crash := c.Crash
			c.Crash = func() { crashed.Store(true); crash() }
		})(serving(queue{next: once(&crashed, next)})(s))
	}
}
