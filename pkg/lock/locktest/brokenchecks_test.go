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

// brokenChecks are subjects that break in a way that one check of a law sees, and no other
// check of that law.
// ghost is a tenure of no lock service.
type ghost struct{ grant lock.Grant }

func (g ghost) Grant() lock.Grant            { return g.grant }
func (g ghost) Done() <-chan struct{}        { return nil }
func (g ghost) Err() error                   { return nil }
func (g ghost) Unlock(context.Context) error { return nil }

var brokenChecks = []brokenBackend{
	{"a grant names another scope", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Scope += "'"; return g } }
	}), []string{
		"scopes do not exclude each other", "names that look alike are scopes apart", "long names are scopes apart",
		"a grant is a value", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "a trylock grants as a lock does",
		"a trylock's scopes are apart as a lock's", "a holder over a service restart keeps the lock or is told"}},
	{"a grant is another one while its successor has the lock", tenures(func(all *service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant {
				all.mu.Lock()
				defer all.mu.Unlock()
				if last := all.granted[len(all.granted)-1]; last != t && t.unlocked.Load() && !last.unlocked.Load() {
					g.Owner += "'"
				}
				return g
			}
		}
	}), []string{"a grant is a value", "a trylock's tenure ends as a lock's does"}},
	{"who waits for a while is granted the lock beside its holder", opening(func(c *locktest.Client) {
		wait := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			short, cancel := context.WithTimeout(ctx, ttl/5)
			defer cancel()
			t, err := wait(short, scope)
			if err != nil && ctx.Err() == nil {
				return ghost{lock.Grant{Scope: scope, Owner: "ghost"}}, nil
			}
			return t, err
		}}
	}), []string{
		"many contenders come in one at a time", "a client excludes itself", "tokens grow after an expiry",
		"a late unlock frees nothing", "a late unlock says so when the successor has gone",
		"a holder that wakes up steals nothing", "what is over stays over", "an unlock without an answer says so",
		"a call ends with its context", "a living holder keeps the lock when it releases another",
		"a waiter does not outlast a living holder", "a waiter whose context ends leaves the queue",
		"a trylock's holder that wakes up is as a lock's", "a waiter outlasts a service restart"}},
	{"the first grant names no owner", first(func(g *lock.Grant) { g.Owner = "" }), []string{"a grant is a value"}},
	{"the first grant has no token", first(func(g *lock.Grant) { g.Token = 0 }), []string{"a grant is a value", "tokens grow after a release"}},
	{"there is neither a tenure nor an error", opening(func(c *locktest.Client) {
		tryLock := c.TryLock
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := tryLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				return nil, nil
			}
			return t, err
		}, c.Lock}
	}), []string{
		"a client excludes itself", "a client's trylocks exclude each other", "a second unlock frees nothing",
		"a late unlock frees nothing", "a holder that wakes up steals nothing", "an unlock is the tenure's",
		"an unlock without an answer says so", "a crash serves those who wait already",
		"a living holder keeps the lock", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "a wait that ends as the lock is free ends one way",
		"a trylock grants as a lock does", "a trylock's holder keeps the lock",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's",
		"a trylock does not wait", "a trylock that fails leaves nothing", "a refusal says what is known",
		"an extended tenure outlasts its holder", "an extension of a renewed tenure says what became of it",
		"a service restart keeps the holder", "a holder over a service restart keeps the lock or is told"}},
	{"a wait that ends is granted", granting(correct), []string{
		"a client excludes itself", "a context that is done asks for nothing",
		"a waiter whose context ends leaves the queue", "nothing goes on after the end"}},
	{"a re-entrant client's wait that ends is granted", granting(reentering), []string{
		"a context that is done asks for nothing", "a waiter whose context ends leaves the queue",
		"nothing goes on after the end", "a lost lock is not re-entered"}},
	{"a reader's wait that ends is granted", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{s.TryRLock, grantingAtEnd(s.RLock)}
	}), []string{
		"a writer keeps readers out", "modes of one client exclude each other",
		"a context that is done asks for no shared lock", "a reader's wait ends as a writer's does",
		"nothing of readers goes on after the end"}},
	{"who has waited for the TTL gives up", opening(func(c *locktest.Client) {
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			soon, cancel := context.WithTimeout(ctx, ttl+ttl/2)
			defer cancel()
			t, err := inner(soon, scope)
			if soon.Err() != nil && ctx.Err() == nil {
				return nil, errors.New("waited for long")
			}
			return t, err
		}}
	}), []string{"a living holder keeps the lock when it releases another", "a waiter does not outlast a living holder"}},
	{"a reader's Err says something before the end", readerChanging(erring, both), []string{
		"a living holder keeps the lock when it releases another", "a late unlock of a reader frees nothing",
		"a reader that wakes up is as a writer", "a crashed reader leaves the others",
		"a living reader keeps the lock", "a tryrlock's reader keeps the lock",
		"a living reader that has waited keeps the lock", "nobody outlasts a living holder of the other mode",
		"a reader outlasts the unlocks of others"}},
	{"Err says something before the end", tenures(func(*service) func(*tenure) { return erring }), []string{
		"a holder that wakes up steals nothing", "the holder is told in time", "a living holder keeps the lock",
		"a living holder that has waited keeps the lock", "a living holder keeps the lock when it releases another",
		"a waiter does not outlast a living holder", "a trylock's holder keeps the lock",
		"a trylock's holder that wakes up is as a lock's"}},
	{"the holder is told of a loss that is none", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.done = make(chan struct{})
			end := sync.OnceFunc(func() { close(t.done) })
			t.unlock = func(_ context.Context, err error) error { end(); return err }
			context.AfterFunc(closing(t.Tenure.Done()), end)
			time.AfterFunc(3*ttl, end)
		}
	}), []string{
		"a living holder keeps the lock", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told", "a trylock's holder keeps the lock"}},
	{"a renewal is a new grant", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			granted := time.Now()
			t.grant = func(g lock.Grant) lock.Grant {
				if time.Since(granted) > 3*ttl {
					g.Token++
				}
				return g
			}
		}
	}), []string{
		"a living holder keeps the lock", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another", "a trylock's holder keeps the lock"}},
	{"a lock of readers and writers says that it is shared", from(sharing, opening(func(c *locktest.Client) {
		inner := c.Backend
		c.Backend = sharingMethods{
			methods{inner.TryLock, changing(inner.Lock, func(t *tenure) {
				t.grant = func(g lock.Grant) lock.Grant { g.Mode = fence.Shared; return g }
			})},
			methods{inner.(lock.Sharer).TryRLock, inner.(lock.Sharer).RLock},
		}
	})), []string{
		"a grant is a value", "a writer keeps readers out"}},
	{"a re-entrant holder is not told of a loss", reenteringWith(func(_ *holders, _ bool, t *tenure) {
		t.done = make(chan struct{})
		end := sync.OnceFunc(func() { close(t.done) })
		t.unlock = func(_ context.Context, err error) error { end(); return err }
	}), []string{
		"the holder is told on loss", "the holder is told in time", "a loss stays known",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's",
		"a lost lock is not re-entered"}},
	{"a re-entrant holder's loss has no reason", reenteringWith(func(_ *holders, _ bool, t *tenure) {
		t.err = func(error) error { return nil }
	}), []string{
		"the holder is told in time", "a loss stays known", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's", "a lost lock is not re-entered"}},
	{"an unlock under a context that is done says that the tenure was lost", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.unlock = func(ctx context.Context, err error) error {
				if ctx.Err() != nil {
					return lock.ErrLost
				}
				return err
			}
		}
	}), []string{
		"an unlock under a context that is done frees the lock or says so",
		"a trylock's tenure ends as a lock's does"}},
	{"Until is over at the grant", from(leased, leasing(func(t *leasedTenure) {
		t.until = func(until time.Time) time.Time { return until.Add(-2 * ttl) }
	})), []string{
		"a lease ends", "a lease lasts until its time", "a trylock's lease is as a lock's",
		"a reader's lease is as a writer's", "an extended lease goes on",
		"an extension after the release says so", "an extension of what is over says so",
		"an extension under a context that is done is made or says so", "an extension without an answer says so"}},
	{"an extension is a new grant", from(leased, leasing(func(t *leasedTenure) {
		inner := t.extend
		var extended fence.Token
		t.tenure.grant = func(g lock.Grant) lock.Grant { g.Token += extended; return g }
		t.extend = func(ctx context.Context, d time.Duration) error {
			extended++
			return inner(ctx, d)
		}
	})), []string{"an extended lease goes on"}},
	{"holders are told as waiters, too", telling(func(s *lock.State) {
		s.Waiters = append(s.Waiters, s.Holders...)
	}), []string{
		"who holds a lock can be asked", "who waits for a lock can be asked"}},
	{"the mode of holders is not told", telling(func(s *lock.State) {
		for i := range s.Holders {
			s.Holders[i].Mode = fence.Exclusive
		}
	}), []string{"who holds a lock can be asked"}},
	{"leases are told that are too long", telling(func(s *lock.State) {
		for i := range s.Holders {
			s.Holders[i].Left = time.Hour
		}
	}), []string{"who holds a lock can be asked"}},
	{"the words of waiters are lost", telling(func(s *lock.State) {
		for i := range s.Waiters {
			s.Waiters[i].Words = ""
		}
	}), []string{"who waits for a lock can be asked"}},
	{"an owner is told of a waiter that nobody has", telling(func(s *lock.State) {
		for i := range s.Waiters {
			s.Waiters[i].Owner += "'"
		}
	}), []string{"who waits for a lock can be asked"}},
}

// first changes the first grant of a service.
func first(change func(*lock.Grant)) func(locktest.Subject) locktest.Subject {
	return tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			if len(s.granted) == 1 {
				t.grant = func(g lock.Grant) lock.Grant { change(&g); return g }
			}
		}
	})
}

// erring has a tenure say that it is lost while it is current.
func erring(t *tenure) {
	t.err = func(err error) error {
		if !isClosed(t.Done()) {
			return lock.ErrCutOff
		}
		return err
	}
}

// granting grants a lock to those whose wait for it comes to its deadline.
func granting(correct func() locktest.Subject) func(locktest.Subject) locktest.Subject {
	return from(correct, opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, grantingAtEnd(c.Lock)}
	}))
}

func grantingAtEnd(wait lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := wait(ctx, scope)
		if errors.Is(err, context.DeadlineExceeded) {
			return elsewhere(wait)(context.WithoutCancel(ctx), scope)
		}
		return t, err
	}
}
