package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenReentry are re-entrant subjects that break in one situation only.
var brokenReentry = []brokenBackend{
	{"re-entry by trylock begins another tenure", reenteringWith(func(h *holders, try bool, t *tenure) {
		if try && h.count() > 1 {
			t.grant = func(g lock.Grant) lock.Grant { g.Owner += "'"; return g }
		}
	}), []string{"re-entry keeps the grant"}},
	{"the unlock of what came by trylock frees", reenteringWith(func(h *holders, try bool, t *tenure) {
		t.unlock = func(ctx context.Context, err error) error {
			if other := h.another(t); try && other != nil {
				_ = other.Tenure.Unlock(ctx)
				if last := h.another(other); last != nil {
					_ = last.Tenure.Unlock(ctx)
				}
			}
			return err
		}
	}), []string{"the last unlock frees a re-entered lock"}},
	{"a second unlock is another holder's", reenteringWith(func(h *holders, _ bool, t *tenure) {
		t.unlock = func(ctx context.Context, err error) error {
			if other := h.another(t); errors.Is(err, lock.ErrLost) && other != nil && !isClosed(other.Done()) {
				_ = other.Unlock(ctx)
			}
			return err
		}
	}), []string{"a second unlock of a re-entered lock counts once"}},
	{"the unlocks before the last end the renewal", reenteringWith(func(h *holders, _ bool, t *tenure) {
		t.unlock = func(_ context.Context, err error) error {
			if other := h.another(t); other != nil {
				expiring(other)
			}
			return err
		}
	}), []string{"a re-entered lock lives until its last unlock"}},
	{"locks that ask at once begin two tenures", askingTwice, []string{"re-entry at once is one tenure"}},
	{"a lock that was re-entered is granted once more", reenteringWith(func(h *holders, _ bool, t *tenure) {
		owner := h.ownerOfReentered(t.Tenure.Grant())
		t.grant = func(g lock.Grant) lock.Grant { g.Owner = owner; return g }
	}), []string{"a lock that is taken anew is a new grant"}},
	{"a second unlock returns nil", reenteringWith(func(_ *holders, _ bool, t *tenure) {
		t.unlock = func(_ context.Context, err error) error {
			if errors.Is(err, lock.ErrLost) && !isLost(t) {
				return nil
			}
			return err
		}
	}), []string{
		"a second unlock frees nothing", "an unlock is the tenure's", "an unlock of what is over says so",
		"of two unlocks at once one frees", "an unlock without an answer says so",
		"a trylock's tenure ends as a lock's does", "a refusal says what is known",
		"a second unlock of a re-entered lock counts once"}},
	{"the unlocks of a lost lock return nil", reenteringWith(func(_ *holders, _ bool, t *tenure) {
		t.unlock = func(_ context.Context, err error) error {
			if isLost(t) {
				return nil
			}
			return err
		}
	}), []string{
		"a late unlock frees nothing", "a late unlock says so when the successor has gone",
		"a trylock's holder that wakes up is as a lock's", "a lost lock is not re-entered"}},
	{"a lost lock is re-entered", from(reentering, stubborn), []string{"a lost lock is not re-entered"}},
	{"a lock is re-entered under a context that is done", from(reentering, opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() == nil {
				return inner.Lock(ctx, scope)
			}
			return changing(inner.TryLock, func(*tenure) {})(context.WithoutCancel(ctx), scope)
		}}
	})), []string{"a context that is done asks for nothing"}},
	{"a second unlock at the same time counts, too", countingTwice(lock.ErrLost), []string{"a second unlock of a re-entered lock counts once"}},
	{"a second unlock at the same time returns nil", countingTwice(nil), []string{"a second unlock of a re-entered lock counts once"}},
	{"a lost lock is granted once more when it is free", reenteringWith(func(h *holders, _ bool, t *tenure) {
		owner := t.Tenure.Grant().Owner
		if lost := h.lost(); lost != nil {
			owner = lost.Tenure.Grant().Owner
		}
		t.grant = func(g lock.Grant) lock.Grant { g.Owner = owner; return g }
	}), []string{"a lost lock is not re-entered"}},
	{"a lost lock is counted in when it is free", from(reentering, opening(func(c *locktest.Client) {
		inner, h := *c, new(holders)
		c.Backend = methods{c.TryLock, changing(inner.Lock, func(t *tenure) {
			h.note(t)
			t.unlock = func(ctx context.Context, err error) error {
				if err == nil && h.lost() != nil {
					_, _ = inner.TryLock(ctx, t.Grant().Scope)
				}
				return err
			}
		})}
	})), []string{"a lost lock is not re-entered"}},
}

// countingTwice has a second unlock that comes at the same time be another holder's, and return err.
func countingTwice(err error) func(locktest.Subject) locktest.Subject {
	return reenteringWith(func(h *holders, _ bool, t *tenure) {
		var unlocking atomic.Bool
		t.unlock = func(ctx context.Context, is error) error {
			if is == nil {
				unlocking.Store(true)
				time.Sleep(ttl / 1000) // in which the other one comes
				unlocking.Store(false)
			}
			if other := h.another(t); is != nil && unlocking.Load() && other != nil {
				_ = other.Tenure.Unlock(ctx)
				return err
			}
			return is
		}
	})
}

func (h *holders) note(t *tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tenures = append(h.tenures, t)
}

// lost is one that was lost and not unlocked; nil: there is none.
func (h *holders) lost() *tenure {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tenures {
		if isLost(t) && !t.unlocked.Load() {
			return t
		}
	}
	return nil
}

// holders are the tenures of a client that are current, by what it knows.
type holders struct {
	mu        sync.Mutex
	tenures   []*tenure
	reentered *lock.Grant // the last grant that was re-entered
}

func isLost(t *tenure) bool { return isClosed(t.Tenure.Done()) && t.Tenure.Err() != nil }

// count is how many there are, of those that were not unlocked.
func (h *holders) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tenures {
		if !t.unlocked.Load() {
			n++
		}
	}
	return n
}

// current is one of those that were not unlocked, by its place.
func (h *holders) current(place int) *tenure {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tenures {
		if t.unlocked.Load() {
			continue
		}
		if place == 0 {
			return t
		}
		place--
	}
	return nil
}

// another is one beside t that was not unlocked; nil: there is none.
func (h *holders) another(t *tenure) *tenure {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.tenures {
		if other != t && !other.unlocked.Load() && other.Tenure.Grant() == t.Tenure.Grant() {
			return other
		}
	}
	return nil
}

// ownerOfReentered is the owner of a grant or, if the client re-entered one of the scope
// before and has lost none, of that one.
func (h *holders) ownerOfReentered(g lock.Grant) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if was := h.reentered; was != nil && was.Scope == g.Scope && !slices.ContainsFunc(h.tenures, isLost) {
		return was.Owner
	}
	for _, t := range h.tenures {
		if !t.unlocked.Load() && t.Tenure.Grant() == g {
			h.reentered = &g
		}
	}
	return g.Owner
}

// reenteringWith changes the tenures of a re-entrant subject. try is whether TryLock was
// granted it.
func reenteringWith(change func(h *holders, try bool, t *tenure)) func(locktest.Subject) locktest.Subject {
	return from(reentering, opening(func(c *locktest.Client) {
		h := new(holders)
		by := func(attempt lockFunc, try bool) lockFunc {
			return changing(attempt, func(t *tenure) {
				change(h, try, t)
				h.note(t)
			})
		}
		c.Backend = methods{by(c.TryLock, true), by(c.Lock, false)}
	}))
}

// askingTwice gives a lock another owner that was asked for while the client asked already.
func askingTwice(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		var asking atomic.Int64
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			second := asking.Add(1) > 1
			defer asking.Add(-1)
			time.Sleep(ttl / 1000) // in which others ask
			return changing(inner, func(t *tenure) {
				if second {
					t.grant = func(g lock.Grant) lock.Grant { g.Owner += "'"; return g }
				}
			})(ctx, scope)
		}}
	})(reentering())
}

// stubborn grants a client again what it has taken several times and not unlocked, be it lost or not.
func stubborn(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		held := make(map[string]lock.Tenure)
		times := make(map[string]int)
		var mu sync.Mutex
		again := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				mu.Lock()
				last, often := held[scope], times[scope] > 1
				mu.Unlock()
				if often && isClosed(last.Done()) && last.Err() != nil {
					return last, nil
				}
				t, err := attempt(ctx, scope)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					held[scope] = t
					times[scope]++
				}
				return t, err
			}
		}
		c.Backend = methods{again(c.TryLock), again(c.Lock)}
	})(s)
}
