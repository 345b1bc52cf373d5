package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of single tenures, and of those who wait for one.

// manyScopes is how many locks a client holds at a time, beside some others.
const manyScopes = 24

func scopesApart(t *trial) error {
	scopes := []string{
		t.scope + "/a/b", t.scope + "/a", t.scope, t.scope + "/", t.scope + "-2",
		strings.ToUpper(t.scope), "/" + t.scope, "/" + t.scope + "/a",
	}
	if !t.FixedLease { // which could be over before all are taken
		for i := range manyScopes {
			scopes = append(scopes, fmt.Sprint(t.scope, "/", i))
		}
	}
	var held []lock.Tenure
	for _, scope := range scopes {
		tenure, err := t.lockIn(t.a, scope)
		if err != nil {
			return fmt.Errorf("lock %q, while %q are held: %w", scope, scopes[:len(held)], err)
		}
		held = append(held, tenure)
	}
	for i, tenure := range held {
		if scope := tenure.Grant().Scope; scope != scopes[i] {
			return fmt.Errorf("lock %q was granted as %q", scopes[i], scope)
		}
		if err := t.released(tenure, scopes[i]); err != nil {
			return err
		}
	}
	return nil
}

// released unlocks a tenure while those of other scopes are current, and is nil if b is granted the scope then.
func (t *trial) released(tenure lock.Tenure, scope string) error {
	if err := t.unlock(tenure); err != nil {
		return fmt.Errorf("unlock %q, while others are held: %w", scope, err)
	}
	if t.FixedLease { // which could be over before the last one is looked at
		return nil
	}
	other, err := t.take(t.b.TryLock, scope)
	if err != nil {
		return fmt.Errorf("trylock %q, which was released while others are held: %w", scope, err)
	}
	return t.unlock(other)
}

// waitsAtOnce is how many calls of a client wait at a time.
const waitsAtOnce = 10

// waitsApart: a client that waits for a lock takes and releases another one.
func waitsApart(t *trial) error {
	if _, err := t.lock(t.b); err != nil {
		return err
	}
	ctx, leave := context.WithCancel(t.ctx)
	var waits sync.WaitGroup
	defer waits.Wait()
	defer leave()
	for range waitsAtOnce {
		waits.Go(func() { _, _ = t.a.Lock(ctx, t.scope) })
	}
	t.queue()
	other, err := t.lockIn(t.a, t.scope+"/other")
	if err != nil {
		return fmt.Errorf("to a client that waits for another lock: %w", err)
	}
	if err := t.unlock(other); err != nil {
		return fmt.Errorf("unlock by a client of which %d wait for another lock: %w", waitsAtOnce, err)
	}
	return nil
}

// clientExcludesTries: the client's own TryLock fails.
func clientExcludesTries(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.held(t.a); err != nil {
		return fmt.Errorf("by the client that holds it: %w", err)
	}
	return t.unlock(tenure)
}

func clientExcludesItself(t *trial) error {
	if err := clientExcludesTries(t); err != nil {
		return err
	}
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	if again, err := t.a.Lock(ctx, t.scope); err == nil {
		return fmt.Errorf("Lock granted %+v to the client that held %+v", again.Grant(), tenure.Grant())
	}
	return t.unlock(tenure)
}

func tryLockGrants(t *trial) error {
	before, err := t.pass(t.b)
	if err != nil {
		return err
	}
	seen := owners{before.Owner: before}
	for range 2 {
		tenure, err := t.tryLock(t.a)
		if err != nil {
			return err
		}
		g := tenure.Grant()
		if err := errors.Join(t.valid(g, fence.Exclusive), seen.see(g), t.grow(before, g)); err != nil {
			return err
		}
		if err := t.unlock(tenure); err != nil {
			return err
		}
		before = g
	}
	tenure, err := t.tryLock(t.a)
	if err != nil {
		return err
	}
	if err := t.held(t.b); err != nil {
		return err
	}
	return t.unlock(tenure)
}

func tryLockLives(t *trial) error { return t.outlasts(t.tryLock) }

func tryLockDoesNotWait(t *trial) error { return t.doesNotWait(t.tryLock) }

// doesNotWait is nil if b is told at once that a holds the lock.
func (t *trial) doesNotWait(try func(Client) (lock.Tenure, error)) error {
	const attempts = 10
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	// One that is quick is enough: the others may be slow by right.
	for range attempts {
		began := time.Now()
		if other, err := try(t.b); err == nil {
			return fmt.Errorf("%+v was granted while %+v was current", other.Grant(), tenure.Grant())
		} else if !errors.Is(err, lock.ErrLocked) {
			return fmt.Errorf("of a lock that is held: %w, want ErrLocked", err)
		}
		if time.Since(began) < t.TTL/10 {
			return t.unlock(tenure)
		}
	}
	return fmt.Errorf("each of %d attempts on a held lock took %v or longer", attempts, t.TTL/10)
}

func unlockIsTheTenures(t *trial) error { return t.unlockTwice(t.a, false) }

func overUnlockSaysSo(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	for range 2 {
		if err := t.unlock(tenure); !errors.Is(err, lock.ErrLost) {
			return fmt.Errorf("unlock of %+v, which was released, and nobody came after it: %v, want ErrLost", tenure.Grant(), err)
		}
		if err := tenure.Err(); err != nil {
			return fmt.Errorf("Err is %w after a further Unlock of what was released, want nil", err)
		}
	}
	return t.free(t.b)
}

func twoUnlocks(t *trial) error {
	for range rounds {
		tenure, err := t.lock(t.a)
		if err != nil {
			return err
		}
		if err := t.unlocksAtOnce(tenure); err != nil {
			return err
		}
	}
	return t.free(t.b)
}

// unlocksAtOnce is nil if one of two unlocks at the same time succeeds.
func (t *trial) unlocksAtOnce(tenure lock.Tenure) error {
	var (
		errs  [2]error
		group sync.WaitGroup
	)
	for i := range errs {
		group.Go(func() { errs[i] = t.unlock(tenure) })
	}
	group.Wait()
	one, other := errs[0], errs[1]
	if one != nil {
		one, other = other, one
	}
	if one != nil || !errors.Is(other, lock.ErrLost) {
		return fmt.Errorf("two unlocks of %+v at once: %v and %v, want success of one and ErrLost of the other", tenure.Grant(), errs[0], errs[1])
	}
	return nil
}

func crashedWaiter(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	end, err := t.crashInQueue(t.b)
	defer end()
	if err != nil {
		return err
	}
	if err := t.unlock(holder); err != nil {
		return err
	}
	if _, err := t.pass(t.c); err != nil {
		return fmt.Errorf("behind a waiter that crashed: %w", err)
	}
	return nil
}

// crashInQueue has a client crash while it waits for the lock. Its call ends with end, which returns the call's error.
func (t *trial) crashInQueue(c Client) (end func() error, err error) {
	ctx, cancel := context.WithCancel(t.ctx)
	waiter := make(chan error, 1)
	go func() { _, err := c.Lock(ctx, t.scope); waiter <- err }()
	t.queue()
	return func() error { cancel(); return <-waiter }, t.crash(c)
}

func ownersAreUnique(t *trial) error {
	var grants []lock.Grant
	for _, c := range []Client{t.a, t.a, t.b, t.a} {
		g, err := t.pass(c)
		if err != nil {
			return err
		}
		grants = append(grants, g)
	}
	begins, _, err := t.threeRace()
	if err != nil {
		return err
	}
	for _, b := range begins {
		grants = append(grants, b.grant)
	}
	seen := make(owners)
	for _, g := range grants {
		if err := seen.see(g); err != nil {
			return err
		}
	}
	return nil
}

// grantOutlivesTenure looks at the grant at each step of its successor's tenure.
func grantOutlivesTenure(t *trial) error {
	old, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := old.Grant()
	if err := t.crash(t.a); err != nil {
		return err
	}
	next, err := t.lock(t.b)
	if err != nil {
		return err
	}
	for _, then := range []struct {
		when string
		do   func() error
	}{
		{"when its tenure was over and its successor's had begun", func() error { return nil }},
		{"when its tenure was lost", func() error {
			select {
			case <-old.Done():
			case <-time.After(t.bound()): // which is about another law
			}
			return nil
		}},
		{"some time later", func() error { time.Sleep(2 * t.TTL); return nil }}, // stands for no event
		{"when its holder woke up", func() error { return t.wake(t.a) }},
		{"when its tenure was over and unlocked", func() error { _, _ = t.unlock(old), t.unlock(next); return nil }}, // which is about other laws
		{"when the lock had moved on twice", func() error { _, err := t.pass(t.c); return err }},
	} {
		if err := then.do(); err != nil {
			return err
		}
		if err := same(old, was, then.when); err != nil {
			return err
		}
	}
	return nil
}

// toldInTime: it is not the client's first tenure.
func toldInTime(t *trial) error {
	if _, err := t.pass(t.a); err != nil {
		return err
	}
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := tenure.Err(); err != nil {
		return fmt.Errorf("Err is %w right after the grant", err)
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	if err := t.lost(tenure); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	return nil
}
