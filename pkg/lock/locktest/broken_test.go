package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenBackend makes a correct subject break a law.
type brokenBackend struct {
	name     string
	subject  func(locktest.Subject) locktest.Subject
	caughtBy []string // by exactly these laws, as chance.Catches has it
}

var broken = slices.Concat(brokenTenures, brokenAlone, brokenOtherwise, brokenParts, brokenReaders, brokenSharing, brokenLeases, brokenOrder, brokenQueues, brokenReentry, brokenInspectors, brokenChecks, brokenRefusals, brokenExtensions, brokenRenewals, brokenLate, brokenContexts)

var brokenTenures = []brokenBackend{
	{"two holders at once", intruder, []string{
		"one tenure at a time", "many contenders come in one at a time", "names that look alike are scopes apart",
		"long names are scopes apart", "a second unlock frees nothing", "a late unlock frees nothing",
		"a late unlock says so when the successor has gone", "a holder that wakes up steals nothing",
		"what is over stays over", "an unlock without an answer says so", "a living holder keeps the lock",
		"a living holder that has waited keeps the lock", "a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "a waiter whose context ends leaves the queue",
		"a wait that ends as the lock is free ends one way", "nothing goes on after the end",
		"a trylock grants as a lock does", "a trylock's holder keeps the lock",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's",
		"a trylock does not wait", "a trylock that fails leaves nothing", "a refusal says what is known",
		"a wait without an answer says what it leaves", "an extended tenure outlasts its holder",
		"an extension of a renewed tenure says what became of it", "a waiter outlasts a service restart"}},
	{"a number is invented that passes for a token", func(s locktest.Subject) locktest.Subject {
		s.NoToken = true
		return s
	}, []string{"a grant is a value", "a trylock grants as a lock does"}},
	{"owners are not unique", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Owner = "me"; return g } }
	}), []string{
		"many contenders come in one at a time", "a grant is a value", "owners are unique",
		"a trylock grants as a lock does", "a trylock's tenure ends as a lock's does",
		"grants are new after service restarts"}},
	{"the token is read again at use", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Token = s.last().Tenure.Grant().Token; return g }
		}
	}), []string{
		"a grant is a value", "a grant outlives its tenure", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's", "grants are new after service restarts"}},
	{"two grants have the same token", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Token = (g.Token + 1) / 2; return g }
		}
	}), []string{
		"many contenders come in one at a time", "tokens grow after a release", "tokens grow after an expiry",
		"tokens grow under racing clients", "a trylock grants as a lock does",
		"grants are new after service restarts", "a waiter outlasts a service restart"}},
	{"tokens restart soon after an expiry", counting(func(s *service, n *fence.Token) {
		if len(s.granted) < 2 {
			return
		}
		before, now := s.granted[len(s.granted)-2], s.granted[len(s.granted)-1]
		if !before.unlocked.Load() && before.Grant().Scope == now.Tenure.Grant().Scope && time.Since(s.since) < 4*ttl {
			*n = 0
		}
	}), []string{"tokens grow after an expiry"}},
	{"tokens restart with the service", restarting, []string{
		"grants are new after service restarts", "a waiter outlasts a service restart"}},
	{"tokens are drawn before the grant", early, []string{"tokens grow under racing clients"}},
	{"a late unlock frees the successor", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.unlock = func(ctx context.Context, err error) error {
				if errors.Is(err, lock.ErrLost) {
					s.last().Tenure.Unlock(ctx)
				}
				return err
			}
		}
	}), []string{
		"a second unlock frees nothing", "a late unlock frees nothing", "an unlock is the tenure's",
		"an unlock without an answer says so", "a living holder keeps the lock when it releases another",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's"}},
	{"a late unlock returns nil", unlocking(func(err error) error {
		if errors.Is(err, lock.ErrLost) {
			return nil
		}
		return err
	}), []string{
		"a second unlock frees nothing", "a late unlock frees nothing",
		"a late unlock says so when the successor has gone", "an unlock is the tenure's",
		"an unlock of what is over says so", "of two unlocks at once one frees",
		"an unlock without an answer says so", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's", "a refusal says what is known"}},
	{"an unlock without an answer returns nil", unlocking(func(err error) error {
		if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
			return nil
		}
		return err
	}), []string{
		"an unlock without an answer says so", "a call ends with its context",
		"a trylock's tenure ends as a lock's does"}},
	{"the holder is never told", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.done = make(chan struct{}) }
	}), []string{
		"an unlock without an answer says so",
		"an unlock under a context that is done frees the lock or says so", "the holder is told on unlock",
		"the holder is told on loss", "the holder is told in time", "a loss stays known",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's"}},
	{"the holder is told of unlocks only", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.done = make(chan struct{})
			end := sync.OnceFunc(func() { close(t.done) })
			t.unlock = func(_ context.Context, err error) error { end(); return err }
		}
	}), []string{
		"the holder is told on loss", "the holder is told in time", "a loss stays known",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's"}},
	{"a crash never frees", opening(func(c *locktest.Client) { c.Crash = func() {} }), []string{
		"a grant outlives its tenure", "tokens grow after an expiry", "tokens grow after idleness",
		"a late unlock frees nothing", "a late unlock says so when the successor has gone",
		"a holder that wakes up steals nothing", "what is over stays over", "an unlock without an answer says so",
		"the holder is told on loss", "the holder is told in time", "a loss stays known",
		"a call ends with its context", "a crash frees the lock", "a crash serves those who wait already",
		"a living holder keeps the lock when it releases another", "a crashed waiter leaves the queue",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's",
		"an extended tenure outlasts its holder", "an extension of a renewed tenure says what became of it"}},
	{"the tenure is not renewed", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { time.AfterFunc(ttl+ttl/10, func() { t.Tenure.Unlock(context.Background()) }) }
	}), []string{
		"a living holder keeps the lock", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "a trylock's holder keeps the lock",
		"a holder over a service restart keeps the lock or is told"}},
	{"a waiter takes the lock of a holder that it has seen for the TTL", impatient, []string{"a living holder keeps the lock when it releases another", "a waiter does not outlast a living holder"}},
	{"a cancelled waiter stays", opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, staying(c.Lock, c.Lock)}
	}), []string{
		"a context that is done asks for nothing", "a waiter whose context ends leaves the queue",
		"nothing goes on after the end", "a waiter outlasts a service restart"}},
	{"trylock leaves a waiter", opening(func(c *locktest.Client) {
		c.Backend = methods{staying(c.TryLock, c.Lock), c.Lock}
	}), []string{
		"names that look alike are scopes apart", "long names are scopes apart", "a client excludes itself",
		"a second unlock frees nothing", "a late unlock frees nothing", "a holder that wakes up steals nothing",
		"a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another", "a context that is done asks for nothing",
		"a wait that ends as the lock is free ends one way", "nothing goes on after the end",
		"a trylock's tenure ends as a lock's does", "a trylock that fails leaves nothing",
		"an extended tenure outlasts its holder", "a service restart keeps the holder"}},
	{"all scopes are one", scoped(func(string) string { return "all" }), []string{
		"scopes do not exclude each other", "names that look alike are scopes apart", "long names are scopes apart",
		"a crash frees the lock", "a crash serves those who wait already",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "nothing goes on after the end",
		"a trylock's scopes are apart as a lock's", "grants are new after service restarts",
		"a holder over a service restart keeps the lock or is told"}},
	{"nested scopes are one", scoped(func(scope string) string {
		outer, _, _ := strings.Cut(scope, "/")
		return outer
	}), []string{
		"scopes do not exclude each other", "names that look alike are scopes apart", "a crash frees the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "nothing goes on after the end",
		"a trylock's scopes are apart as a lock's", "grants are new after service restarts",
		"a holder over a service restart keeps the lock or is told"}},
	{"scopes are folded in case", scoped(strings.ToLower), []string{
		"scopes do not exclude each other", "names that look alike are scopes apart",
		"a trylock's scopes are apart as a lock's"}},
	{"a client gets its own lock again", again, []string{
		"a client excludes itself", "a client's trylocks exclude each other",
		"a client's waiters exclude each other", "a living holder keeps the lock"}},
	{"a client that has waited for itself gets its own lock again", waitsForItself, []string{"a client excludes itself"}},
	{"a trylock has no token", trying(func(t *tenure) {
		t.grant = func(g lock.Grant) lock.Grant { g.Token = 0; return g }
	}), []string{
		"tokens grow after idleness", "a trylock grants as a lock does", "grants are new after service restarts"}},
	{"a client's only lock, by trylock, is not renewed", opening(func(c *locktest.Client) {
		inner := c.Backend
		var taken atomic.Int64
		count := func(*tenure) { taken.Add(1) }
		c.Backend = methods{changing(inner.TryLock, func(t *tenure) {
			taken.Add(1)
			time.AfterFunc(ttl+ttl/10, func() {
				if taken.Load() == 1 {
					_ = t.Tenure.Unlock(context.Background())
				}
			})
		}), changing(inner.Lock, count)}
	}), []string{"a trylock's holder keeps the lock"}},
	{"a second unlock is the client's", unlockingOf(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		last := s.last()
		if !t.released() || call != 2 || clientOf(last) != clientOf(t) {
			return err
		}
		return last.Tenure.Unlock(ctx)
	}), []string{
		"an unlock is the tenure's", "a living holder keeps the lock when it releases another",
		"a trylock's tenure ends as a lock's does"}},
	{"an unlock of what is over returns nil where nobody came after it", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.unlock = func(_ context.Context, err error) error {
				if errors.Is(err, lock.ErrLost) && s.last() == t {
					return nil
				}
				return err
			}
		}
	}), []string{
		"an unlock of what is over says so", "of two unlocks at once one frees",
		"a trylock's tenure ends as a lock's does", "a refusal says what is known"}},
	{"two unlocks at once both return nil", opening(func(c *locktest.Client) {
		c.Backend = methods{hasty(c.TryLock), hasty(c.Lock)}
	}), []string{
		"of two unlocks at once one frees", "a trylock's tenure ends as a lock's does"}},
	{"a crashed waiter stays", crashedStays, []string{"a crashed waiter leaves the queue"}},
	{"a restart forgets holders", forgetting, []string{"a service restart keeps the holder", "a holder over a service restart keeps the lock or is told"}},
	{"owners are clients", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Owner, _, _ = strings.Cut(g.Owner, "/"); return g }
		}
	}), []string{
		"owners are unique", "a trylock grants as a lock does", "grants are new after service restarts"}},
	{"a grant is empty after the loss", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant {
				if !t.unlocked.Load() && isClosed(t.Tenure.Done()) {
					return lock.Grant{}
				}
				return g
			}
		}
	}), []string{
		"a grant outlives its tenure", "a trylock's holder that wakes up is as a lock's"}},
	{"trylock waits for a while", opening(func(c *locktest.Client) {
		inner := c.Backend
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.TryLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				time.Sleep(ttl / 4)
			}
			return t, err
		}, c.Lock}
	}), []string{"a trylock does not wait"}},
	{"a context that is done is not looked at", opening(func(c *locktest.Client) {
		looking := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if ctx.Err() != nil {
					ctx = context.WithoutCancel(ctx)
				}
				return attempt(ctx, scope)
			}
		}
		c.Backend = methods{looking(c.TryLock), looking(c.Lock)}
	}), []string{"a context that is done asks for nothing"}},
	{"the news of a loss is late", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.done = make(chan struct{})
			end := sync.OnceFunc(func() { close(t.done) })
			t.unlock = func(_ context.Context, err error) error { end(); return err }
			context.AfterFunc(closing(t.Tenure.Done()), func() { time.AfterFunc(ttl+ttl/2, end) })
		}
	}), []string{
		"the holder is told in time", "a trylock's holder that wakes up is as a lock's"}},
	{"a loss has no reason", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.err = func(error) error { return nil } }
	}), []string{
		"the holder is told in time", "a loss stays known", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's"}},
	{"a release passes for a loss", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			var released atomic.Bool
			t.unlock = func(ctx context.Context, err error) error {
				released.Store(err == nil && ctx.Err() == nil)
				return err
			}
			t.err = func(err error) error {
				if released.Load() {
					return lock.ErrLost
				}
				return err
			}
		}
	}), []string{
		"the holder is told on unlock", "a trylock's tenure ends as a lock's does"}},
	{"a call outlives its context", opening(func(c *locktest.Client) {
		slow := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				t, err := attempt(ctx, scope)
				if err != nil && !errors.Is(err, lock.ErrLocked) && ctx.Err() == nil {
					time.Sleep(5 * ttl)
				}
				return t, err
			}
		}
		c.Backend = methods{slow(c.TryLock), slow(c.Lock)}
	}), []string{"a call ends with its context"}},
	{"trylock waits", opening(func(c *locktest.Client) { c.Backend = methods{c.Lock, c.Lock} }), []string{
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
}

type lockFunc = func(context.Context, string) (lock.Tenure, error)

// methods is a Backend of two functions.
type methods struct{ tryLock, lock lockFunc }

func (m methods) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return m.tryLock(ctx, scope)
}

func (m methods) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return m.lock(ctx, scope)
}

// staying leaves a waiter behind where attempt fails.
func staying(attempt, wait lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := attempt(ctx, scope)
		if err != nil {
			go wait(context.WithoutCancel(ctx), scope)
			time.Sleep(ttl / 1000) // until it is in the queue
		}
		return t, err
	}
}

// tenure is one that can be changed in each part; a nil part is as it was.
type tenure struct {
	lock.Tenure
	unlocked atomic.Bool
	freed    atomic.Bool
	grant    func(lock.Grant) lock.Grant
	done     chan struct{}
	err      func(error) error
	unlock   func(context.Context, error) error
}

func (t *tenure) Err() error {
	if t.err == nil {
		return t.Tenure.Err()
	}
	return t.err(t.Tenure.Err())
}

// released reports whether an Unlock has released the lock.
func (t *tenure) released() bool { return t.freed.Load() }

func (t *tenure) Grant() lock.Grant {
	if t.grant == nil {
		return t.Tenure.Grant()
	}
	return t.grant(t.Tenure.Grant())
}

func (t *tenure) Done() <-chan struct{} {
	if t.done == nil {
		return t.Tenure.Done()
	}
	return t.done
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.unlocked.Store(true)
	err := t.Tenure.Unlock(ctx)
	if err == nil {
		t.freed.Store(true)
	}
	if t.unlock == nil {
		return err
	}
	return t.unlock(ctx, err)
}

// service remembers the tenures of all clients of a subject, in order.
type service struct {
	mu      sync.Mutex
	granted []*tenure
	since   time.Time // of the last one
}

func (s *service) note(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted = append(s.granted, t)
}

// all are the tenures so far.
func (s *service) all() []*tenure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.granted)
}

// last is nil where there is none.
func (s *service) last() *tenure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.granted) == 0 {
		return nil
	}
	return s.granted[len(s.granted)-1]
}

// tenures changes each tenure as it is granted, one at a time.
func tenures(rule func(*service) func(*tenure)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		all := new(service)
		change := rule(all)
		changing := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				inner, err := attempt(ctx, scope)
				if err != nil {
					return nil, err
				}
				all.mu.Lock()
				defer all.mu.Unlock()
				t := &tenure{Tenure: inner}
				all.granted = append(all.granted, t)
				change(t)
				all.since = time.Now()
				return t, nil
			}
		}
		return opening(func(c *locktest.Client) {
			c.Backend = methods{changing(c.TryLock), changing(c.Lock)}
		})(s)
	}
}

// unlocking changes what Unlock returns.
func unlocking(change func(error) error) func(locktest.Subject) locktest.Subject {
	return tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.unlock = func(_ context.Context, err error) error { return change(err) }
		}
	})
}

// counting gives out tokens from a counter that before may reset.
func counting(before func(*service, *fence.Token)) func(locktest.Subject) locktest.Subject {
	return tenures(func(s *service) func(*tenure) {
		var n fence.Token
		return func(t *tenure) {
			before(s, &n)
			n++
			token := n
			t.grant = func(g lock.Grant) lock.Grant { g.Token = token; return g }
		}
	})
}

func restarting(s locktest.Subject) locktest.Subject {
	restarted := false
	s.Restart = func(context.Context) error { restarted = true; return nil }
	return counting(func(_ *service, n *fence.Token) {
		if restarted {
			*n, restarted = 0, false
		}
	})(s)
}

// early draws the token before it waits for the lock, while there are three clients, and
// the third one is slow to queue up.
func early(s locktest.Subject) locktest.Subject {
	var (
		mu     sync.Mutex
		n      fence.Token
		opened int
	)
	draw := func() fence.Token {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
	return opening(func(c *locktest.Client) {
		opened++
		slow := opened%3 == 0
		drawing := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				few, token := opened == 3, draw()
				if few && slow {
					time.Sleep(ttl / 40) // two and a half tenures of a race
				}
				return changing(attempt, func(t *tenure) {
					if !few {
						token = draw()
					}
					t.grant = func(g lock.Grant) lock.Grant { g.Token = token; return g }
				})(ctx, scope)
			}
		}
		c.Backend = methods{drawing(c.TryLock), drawing(c.Lock)}
	})(s)
}

// intruder lets every third client, from the second on, in past the holder.
var intruder = intruding(func(opened int) bool { return opened%3 == 2 })

// intruding lets some clients in past the holder.
func intruding(who func(opened int) bool) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		opened := 0
		return opening(func(c *locktest.Client) {
			if opened++; !who(opened) {
				return
			}
			late := func(attempt lockFunc) lockFunc {
				return func(ctx context.Context, scope string) (lock.Tenure, error) {
					time.Sleep(ttl / 300) // comes in while a tenure of a race is under way
					return elsewhere(attempt)(ctx, scope)
				}
			}
			c.Backend = methods{late(c.TryLock), late(c.Lock)}
		})(s)
	}
}

// impatient lets one that has waited for longer than the TTL in past the holder.
func impatient(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		inner := c.Backend
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			soon, cancel := context.WithTimeout(ctx, ttl+ttl/10)
			defer cancel()
			t, err := inner.Lock(soon, scope)
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return changing(inner.Lock, func(t *tenure) {
					t.grant = func(g lock.Grant) lock.Grant { g.Scope = scope; return g }
				})(ctx, "not "+scope)
			}
			return t, err
		}}
	})(s)
}

// changing changes the tenures that an attempt is granted.
func changing(attempt lockFunc, change func(*tenure)) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		inner, err := attempt(ctx, scope)
		if err != nil {
			return nil, err
		}
		t := &tenure{Tenure: inner}
		change(t)
		return t, nil
	}
}

// trying changes the tenures that TryLock is granted.
func trying(change func(*tenure)) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) { c.Backend = methods{changing(c.TryLock, change), c.Lock} })
}

// scoped takes another scope than it is asked for, and does not say so.
func scoped(name func(string) string) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		elsewhere := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				return changing(attempt, func(t *tenure) {
					t.grant = func(g lock.Grant) lock.Grant { g.Scope = scope; return g }
				})(ctx, name(scope))
			}
		}
		c.Backend = methods{elsewhere(c.TryLock), elsewhere(c.Lock)}
	})
}

// again grants a client what it holds already, again.
func again(s locktest.Subject) locktest.Subject { return regranting(true)(s) }

// regranting grants a client what it holds already, again: to TryLock and, if also, to Lock.
func regranting(also bool) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		var last atomic.Pointer[lock.Tenure] // nil: there is none
		again := func(attempt lockFunc, regrants bool) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if held := last.Load(); regrants && ctx.Err() == nil && held != nil && (*held).Grant().Scope == scope && !isClosed((*held).Done()) {
					return *held, nil
				}
				t, err := attempt(ctx, scope)
				last.Store(nil)
				if err == nil {
					last.Store(&t)
				}
				return t, err
			}
		}
		c.Backend = methods{again(c.TryLock, true), again(c.Lock, also)}
	})
}

// waitsForItself grants a client what it holds already, again, to a Lock that has waited for a fifth of the TTL.
func waitsForItself(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		wait := c.Lock
		var last atomic.Pointer[lock.Tenure] // nil: there was none
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			short, cancel := context.WithTimeout(ctx, ttl/5)
			defer cancel()
			t, err := wait(short, scope)
			if held := last.Load(); err != nil && ctx.Err() == nil && held != nil && (*held).Grant().Scope == scope && !isClosed((*held).Done()) {
				return *held, nil
			}
			if err != nil && ctx.Err() == nil {
				t, err = wait(ctx, scope)
			}
			if err == nil {
				last.Store(&t)
			}
			return t, err
		}}
	})(s)
}

// hasty tells the second of two unlocks that are under way what the first will be
// told.
func hasty(attempt lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := attempt(ctx, scope)
		if err != nil {
			return nil, err
		}
		return &hastyTenure{Tenure: t}, nil
	}
}

type hastyTenure struct {
	lock.Tenure
	unlocking sync.Mutex
}

func (t *hastyTenure) Unlock(ctx context.Context) error {
	if !t.unlocking.TryLock() {
		return nil
	}
	defer t.unlocking.Unlock()
	time.Sleep(ttl / 1000) // in which the other one comes
	return t.Tenure.Unlock(ctx)
}

// crashedStays leaves a waiter behind for each one that crashes, until the context of its call is done.
func crashedStays(s locktest.Subject) locktest.Subject {
	open := s.Open
	s.Open = func(ctx context.Context) (locktest.Client, error) {
		c, err := open(ctx)
		if err != nil {
			return c, err
		}
		var waits atomic.Pointer[func(locktest.Client)] // its call; nil: the client does not wait
		inner := c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			call := func(ghost locktest.Client) { _, _ = ghost.Lock(ctx, scope) }
			waits.Store(&call)
			defer waits.Store(nil)
			return inner.Lock(ctx, scope)
		}}
		c.Crash = func() {
			inner.Crash()
			call := waits.Load()
			if ghost, err := open(context.Background()); call != nil && err == nil {
				go (*call)(ghost)
				synctest.Wait() // until it is in the queue
			}
		}
		return c, nil
	}
	return s
}

// forgetting has a queue of its own for those who come after a restart.
func forgetting(s locktest.Subject) locktest.Subject {
	var restarts atomic.Int64
	s.Restart = func(context.Context) error { restarts.Add(1); return nil }
	return scoped(func(scope string) string { return scope + strings.Repeat("'", int(restarts.Load())) })(s)
}

// clientOf is the client's name, from a grant of Memory.
func clientOf(t *tenure) string {
	name, _, _ := strings.Cut(t.Grant().Owner, "/")
	return name
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closing is a context that is done when c is closed.
func closing(c <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-c; cancel() }()
	return ctx
}
