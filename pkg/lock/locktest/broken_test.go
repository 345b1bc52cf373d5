package locktest_test

import (
	"context"
	"errors"
	"sync"
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
	caughtBy []string // by exactly these laws
}

var broken = []brokenBackend{
	{"two holders at once", intruder, []string{
		"one tenure at a time", "a second unlock frees nothing", "a late unlock frees nothing",
		"a living holder keeps the lock", "a waiter whose context ends leaves the queue", "a trylock that fails leaves nothing"}},
	{"owners are not unique", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Owner = "me"; return g } }
	}), []string{"a grant is a value"}},
	{"the token is read again at use", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Token = s.last().Tenure.Grant().Token; return g }
		}
	}), []string{"a grant is a value"}},
	{"two grants have the same token", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Token = (g.Token + 1) / 2; return g }
		}
	}), []string{"tokens grow after a release", "tokens grow after an expiry",
		"tokens grow under racing clients", "tokens grow after a service restart"}},
	{"tokens restart after an expiry", counting(func(s *service, n *fence.Token) {
		if len(s.granted) > 1 && !s.granted[len(s.granted)-2].unlocked {
			*n = 0
		}
	}), []string{"tokens grow after an expiry"}},
	{"tokens restart with the service", restarting, []string{"tokens grow after a service restart"}},
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
	}), []string{"a second unlock frees nothing", "a late unlock frees nothing"}},
	{"a late unlock returns nil", unlocking(func(err error) error {
		if errors.Is(err, lock.ErrLost) {
			return nil
		}
		return err
	}), []string{"a second unlock frees nothing", "a late unlock frees nothing"}},
	{"an unlock without an answer returns nil", unlocking(func(err error) error {
		if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
			return nil
		}
		return err
	}), []string{"an unlock without an answer says so"}},
	{"the holder is never told", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.done = make(chan struct{}) }
	}), []string{"an unlock without an answer says so", "the holder is told on unlock", "the holder is told on loss"}},
	{"the holder is told of unlocks only", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.done = make(chan struct{})
			end := sync.OnceFunc(func() { close(t.done) })
			t.unlock = func(_ context.Context, err error) error { end(); return err }
		}
	}), []string{"the holder is told on loss"}},
	{"a crash never frees", opening(func(c *locktest.Client) { c.Crash = func() {} }), []string{
		"tokens grow after an expiry", "a late unlock frees nothing", "an unlock without an answer says so",
		"the holder is told on loss", "a crash frees the lock"}},
	{"the tenure is not renewed", tenures(func(*service) func(*tenure) {
		return func(t *tenure) { time.AfterFunc(ttl, func() { t.Tenure.Unlock(context.Background()) }) }
	}), []string{"a living holder keeps the lock"}},
	{"a cancelled waiter stays", opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, staying(c.Lock, c.Lock)}
	}), []string{"a waiter whose context ends leaves the queue"}},
	{"trylock leaves a waiter", opening(func(c *locktest.Client) {
		c.Backend = methods{staying(c.TryLock, c.Lock), c.Lock}
	}), []string{"a trylock that fails leaves nothing"}},
	{"trylock waits", opening(func(c *locktest.Client) { c.Backend = methods{c.Lock, c.Lock} }), []string{
		"a second unlock frees nothing", "a late unlock frees nothing", "a living holder keeps the lock",
		"a trylock that fails leaves nothing"}},
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
			synctest.Wait() // until it is in the queue
		}
		return t, err
	}
}

// tenure is one that can be changed in each part; a nil part is as it was.
type tenure struct {
	lock.Tenure
	unlocked bool
	grant    func(lock.Grant) lock.Grant
	done     chan struct{}
	unlock   func(context.Context, error) error
}

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
	t.unlocked = true
	err := t.Tenure.Unlock(ctx)
	if t.unlock == nil {
		return err
	}
	return t.unlock(ctx, err)
}

// service remembers the tenures of all clients of a subject, in order.
type service struct {
	mu      sync.Mutex
	granted []*tenure
}

func (s *service) last() *tenure {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// early draws the token before it waits for the lock, and every third client
// is slow to queue up.
func early(s locktest.Subject) locktest.Subject {
	var (
		mu     sync.Mutex
		n      fence.Token
		opened int
	)
	return opening(func(c *locktest.Client) {
		opened++
		slow := opened%3 == 0
		drawing := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				mu.Lock()
				n++
				token := n
				mu.Unlock()
				if slow {
					time.Sleep(ttl / 40) // two and a half tenures of a race
				}
				inner, err := attempt(ctx, scope)
				if err != nil {
					return nil, err
				}
				return &tenure{Tenure: inner, grant: func(g lock.Grant) lock.Grant { g.Token = token; return g }}, nil
			}
		}
		c.Backend = methods{drawing(c.TryLock), drawing(c.Lock)}
	})(s)
}

// intruder lets every third client, from the second on, in past the holder.
func intruder(s locktest.Subject) locktest.Subject {
	opened := 0
	return opening(func(c *locktest.Client) {
		if opened++; opened%3 != 2 {
			return
		}
		elsewhere := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				time.Sleep(ttl / 300) // comes in while a tenure of a race is under way
				inner, err := attempt(ctx, "not "+scope)
				if err != nil {
					return nil, err
				}
				return &tenure{Tenure: inner, grant: func(g lock.Grant) lock.Grant { g.Scope = scope; return g }}, nil
			}
		}
		c.Backend = methods{elsewhere(c.TryLock), elsewhere(c.Lock)}
	})(s)
}
