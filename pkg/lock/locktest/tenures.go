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

func scopesApart(t *trial) error {
	scopes := []string{
		t.scope + "/a/b", t.scope + "/a", t.scope, t.scope + "/", t.scope + "-2",
		strings.ToUpper(t.scope), "/" + t.scope, "/" + t.scope + "/a",
	}
	var held []lock.Tenure
	for _, scope := range scopes {
		tenure, err := t.lockIn(t.a, scope)
		if err != nil {
			return fmt.Errorf("lock %q, while others of %q are held: %w", scope, scopes, err)
		}
		held = append(held, tenure)
	}
	for i, tenure := range held {
		if scope := tenure.Grant().Scope; scope != scopes[i] {
			return fmt.Errorf("lock %q was granted as %q", scopes[i], scope)
		}
		if err := t.unlock(tenure); err != nil {
			return fmt.Errorf("unlock %q: %w", scopes[i], err)
		}
	}
	return nil
}

func clientExcludesItself(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.held(t.a); err != nil {
		return fmt.Errorf("by the client that holds it: %w", err)
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
	tenure, err := t.tryLock(t.a)
	if err != nil {
		return err
	}
	if err := t.valid(tenure.Grant(), fence.Exclusive); err != nil {
		return err
	}
	if err := t.grow(before, tenure.Grant()); err != nil {
		return err
	}
	if err := t.held(t.b); err != nil {
		return err
	}
	return t.unlock(tenure)
}

func tryLockLives(t *trial) error { return t.outlasts(t.tryLock) }

func tryLockDoesNotWait(t *trial) error {
	const attempts = 10
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	// One that is quick is enough: the others may be slow by right.
	for range attempts {
		began := time.Now()
		if err := t.held(t.b); err != nil {
			return err
		}
		if time.Since(began) < t.TTL/10 {
			return t.unlock(tenure)
		}
	}
	return fmt.Errorf("each of %d TryLocks on a held lock took %v or longer", attempts, t.TTL/10)
}

func unlockIsTheTenures(t *trial) error { return t.unlockTwice(t.a) }

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
	}
	return t.free(t.b)
}

func twoUnlocks(t *trial) error {
	for range rounds {
		tenure, err := t.lock(t.a)
		if err != nil {
			return err
		}
		var errs [2]error
		var group sync.WaitGroup
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
	}
	return t.free(t.b)
}

func crashedWaiter(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { _, _ = t.b.Lock(ctx, t.scope) })
	// Stands for no event: nothing tells that it is in the queue.
	time.Sleep(t.TTL / 4)
	if err := t.crash(t.b); err != nil {
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

func restartKeepsHolder(t *trial) error {
	// On a machine so slow that the lease runs out meanwhile the tenure ends by
	// right; where the holder is forgotten it ends every time.
	return attempts(func() error { return restartWhileHeld(t) })
}

func restartWhileHeld(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	if err := t.held(fresh); err != nil {
		_ = t.unlock(tenure)
		return fmt.Errorf("after a restart, and %+v was held: %w", tenure.Grant(), err)
	}
	_ = t.unlock(tenure) // or it expires
	_, err = t.pass(fresh)
	return err
}

func ownersAreUnique(t *trial) error {
	seen := make(map[string]lock.Grant)
	see := func(g lock.Grant) error {
		if before, known := seen[g.Owner]; known {
			return fmt.Errorf("%+v and %+v have the same owner", before, g)
		}
		seen[g.Owner] = g
		return nil
	}
	passes := func(clients ...Client) error {
		for _, c := range clients {
			g, err := t.pass(c)
			if err != nil {
				return err
			}
			if err := see(g); err != nil {
				return err
			}
		}
		return nil
	}
	if err := passes(t.a, t.a, t.b, t.a); err != nil {
		return err
	}
	begins, _, err := t.race()
	if err != nil {
		return err
	}
	for _, b := range begins {
		if err := see(b.grant); err != nil {
			return err
		}
	}
	if t.Restart == nil {
		return nil
	}
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	return passes(fresh, fresh)
}

func grantOutlivesTenure(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := tenure.Grant()
	same := func(when string) error {
		if is := tenure.Grant(); is != was {
			return fmt.Errorf("%+v became %+v %s", was, is, when)
		}
		return nil
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	if _, err := t.pass(t.b); err != nil {
		return err
	}
	if err := t.told(tenure); err != nil {
		return err
	}
	if err := same("when its tenure was lost"); err != nil {
		return err
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	_ = t.unlock(tenure) // which is about another law
	return same("when its tenure was over and unlocked")
}

func doneContext(t *trial) error {
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	for name, take := range map[string]func(context.Context, string) (lock.Tenure, error){"Lock": t.a.Lock, "TryLock": t.a.TryLock} {
		for range rounds {
			tenure, err := take(ctx, t.scope)
			if err == nil {
				return fmt.Errorf("%s granted %+v under a context that was done", name, tenure.Grant())
			}
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%s under a context that was done: %w, want the context's error", name, err)
			}
		}
	}
	return t.free(t.b)
}

func toldInTime(t *trial) error {
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
	if err := t.told(tenure); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	if err := tenure.Err(); !errors.Is(err, lock.ErrCutOff) && !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("Done is closed, and Err is %v, want ErrCutOff or ErrLost", err)
	}
	return nil
}

func callsEnd(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	for _, c := range []Client{t.a, t.b} {
		if err := t.crash(c); err != nil {
			return err
		}
	}
	for name, call := range map[string]func(context.Context) error{
		"Lock":    func(ctx context.Context) error { _, err := t.b.Lock(ctx, t.scope); return err },
		"TryLock": func(ctx context.Context) error { _, err := t.b.TryLock(ctx, t.scope); return err },
		"Unlock":  tenure.Unlock,
	} {
		if err := t.ends(name, call); err != nil {
			return err
		}
	}
	return nil
}

// ends is nil if a call of a client that is cut off fails, and does so soon after
// its context is done.
func (t *trial) ends(name string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- call(ctx) }()
	select {
	case err := <-result:
		if err == nil {
			return fmt.Errorf("%s of a client that is cut off succeeded", name)
		}
		return nil
	case <-time.After(t.TTL/4 + t.Slack):
		return fmt.Errorf("%s of a client that is cut off goes on %v after its context was done", name, t.Slack)
	}
}
