package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

func grantIsValue(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.valid(tenure.Grant(), fence.Exclusive); err != nil {
		return err
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	return grantStays(t)
}

// grantStays is nil if a grant is what it was when another one is current.
func grantStays(t *trial) error {
	first, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := first.Grant()
	if err := t.unlock(first); err != nil {
		return err
	}
	second, err := t.lock(t.b)
	if err != nil {
		return err
	}
	if err := same(first, was, "when the lock moved on"); err != nil {
		return err
	}
	if second.Grant().Owner == was.Owner {
		return fmt.Errorf("%+v and %+v have the same owner", was, second.Grant())
	}
	if err := t.unlock(second); err != nil {
		return err
	}
	own, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := same(first, was, "when its client had the lock again"); err != nil {
		return err
	}
	if err := t.unlock(own); err != nil {
		return err
	}
	_ = t.unlock(first) // which is about another law
	return same(first, was, "by a second Unlock")
}

func (t *trial) valid(g lock.Grant, mode fence.Mode) error {
	switch {
	case g.Mode != mode:
		return fmt.Errorf("%+v is %v, want it %v", g, g.Mode, mode)
	case g.Scope != t.scope:
		return fmt.Errorf("%+v names another scope than %q", g, t.scope)
	case g.Owner == "":
		return fmt.Errorf("%+v names no owner", g)
	case t.NoToken && g.Token != 0:
		return fmt.Errorf("%+v has a token, of a service that has no ordered number", g)
	case !t.NoToken && !g.Token.Valid():
		return fmt.Errorf("%+v has no valid token", g)
	}
	return nil
}

// lockAndCrash lets a have the lock, and crashes it.
func (t *trial) lockAndCrash() (lock.Tenure, error) {
	tenure, err := t.lock(t.a)
	if err != nil {
		return nil, err
	}
	return tenure, t.crash(t.a)
}

// secondUnlock: the successor came after the first unlock, or waited for it.
func secondUnlock(t *trial) error {
	return errors.Join(t.unlockTwice(t.b, false), t.unlockTwice(t.b, true))
}

// unlockTwice has a unlock its tenure once more while next has the lock, which may have waited for it.
func (t *trial) unlockTwice(next Client, waits bool) error {
	old, err := t.lock(t.a)
	if err != nil {
		return err
	}
	var waiter <-chan outcome
	if waits {
		waiter = t.background(t.locking(next))
	}
	if err := t.unlock(old); err != nil {
		return err
	}
	var got outcome
	if waits {
		got = <-waiter
	} else {
		got.tenure, got.err = t.lock(next)
	}
	if got.err != nil {
		return got.err
	}
	return t.freesNothing(old, got.tenure)
}

func lateUnlock(t *trial) error {
	old, next, err := t.wakeBesideSuccessor()
	if err != nil {
		return err
	}
	return t.lateFreesNothing(old, next)
}

// lateUnlockOfOwn: the one that has the lock meanwhile is of the same client.
func lateUnlockOfOwn(t *trial) error {
	old, err := t.wakeAfterSuccessor()
	if err != nil {
		return err
	}
	next, err := t.lock(t.a)
	if err != nil {
		return err
	}
	return t.lateFreesNothing(old, next)
}

// lateFreesNothing unlocks old twice.
func (t *trial) lateFreesNothing(old, next lock.Tenure) error {
	if err := t.overUnlock(old); err != nil {
		return err
	}
	return t.freesNothing(old, next)
}

// freesNothing unlocks old, which is over, while next is current.
func (t *trial) freesNothing(old, next lock.Tenure) error {
	if err := t.overUnlock(old); err != nil {
		return err
	}
	if err := t.unlock(next); err != nil {
		return fmt.Errorf("unlock of the successor %+v: %w", next.Grant(), err)
	}
	return nil
}

// overUnlock unlocks old, which is over, while another one is current.
func (t *trial) overUnlock(old lock.Tenure) error {
	if err := t.unlock(old); !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("unlock of %+v, which was over: %v, want ErrLost", old.Grant(), err)
	}
	if err := t.held(t.c); err != nil {
		return fmt.Errorf("after the unlock of %+v, which was over: %w", old.Grant(), err)
	}
	return nil
}

func unansweredUnlock(t *trial) error {
	tenure, err := t.lockAndCrash()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	err = tenure.Unlock(ctx)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) {
		return fmt.Errorf("unlock by a client that is cut off: %v, want an UnknownError", err)
	}
	select {
	case <-tenure.Done():
	default:
		return errors.New("Done is open after Unlock")
	}
	if err := tenure.Err(); err != nil {
		return fmt.Errorf("Err is %w after Unlock, which closed Done, want nil", err)
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	_, err = t.pass(t.b)
	return err
}

func toldOnUnlock(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	select {
	case <-tenure.Done():
		return errors.New("Done is closed right after the grant")
	default:
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	select {
	case <-tenure.Done():
	default:
		return errors.New("Done is open after Unlock")
	}
	if err := tenure.Err(); err != nil {
		return fmt.Errorf("Err is %w after Unlock, want nil", err)
	}
	return nil
}

func toldOnLoss(t *trial) error {
	tenure, err := t.lockAndCrash()
	if err != nil {
		return err
	}
	if _, err := t.pass(t.b); err != nil {
		return err
	}
	return t.told(tenure)
}

func crashFrees(t *trial) error {
	var scopes []string
	for i, take := range []func(context.Context, string) (lock.Tenure, error){t.a.Lock, t.a.TryLock, t.a.Lock} {
		scope := fmt.Sprint(t.scope, "/", i)
		if _, err := t.take(take, scope); err != nil {
			return err
		}
		scopes = append(scopes, scope)
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	for _, scope := range scopes {
		if _, err := t.lockIn(t.b, scope); err != nil {
			return fmt.Errorf("one of %d locks of a client that crashed: %w", len(scopes), err)
		}
	}
	return nil
}

func crashServesWaiters(t *trial) error { return t.crashServesWaiter(t.bound()) }

// crashServesThoughOthersAsk: another one asks again and again meanwhile, which makes the lease of a holder that crashed no longer.
func crashServesThoughOthersAsk(t *trial) error { return t.crashServesWaiter(t.TTL / 5) }

// crashServesWaiter has another one try to get the lock at times.
func (t *trial) crashServesWaiter(pause time.Duration) error {
	if _, err := t.lock(t.a); err != nil {
		return err
	}
	next := t.background(t.locking(t.b))
	if err := t.crash(t.a); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < t.bound(); {
		select {
		case got := <-next:
			if got.err != nil {
				return fmt.Errorf("to one who waited before the holder crashed: %w", got.err)
			}
			return nil
		case <-time.After(pause):
		}
		other, err := t.tryLock(t.c)
		if err == nil {
			err = t.unlock(other)
		}
		if err != nil && !errors.Is(err, lock.ErrLocked) {
			return err
		}
	}
	return fmt.Errorf("one who waited before the holder crashed waits %v later", t.bound())
}

// crashServesSecondWaiter: the one before it crashes, too.
func crashServesSecondWaiter(t *trial) error {
	if _, err := t.lock(t.a); err != nil {
		return err
	}
	ctx, leave := context.WithCancel(t.ctx)
	defer leave()
	t.background(waitingFor(ctx, t.b, t.scope))
	second := t.background(t.locking(t.c))
	for _, c := range []Client{t.b, t.a} {
		if err := t.crash(c); err != nil {
			return err
		}
	}
	if got := <-second; got.err != nil {
		return fmt.Errorf("when the holder and the first one have crashed: %w", got.err)
	}
	return nil
}

// leavingPassesOn: a waiter leaves as it is its turn, which is then the next one's.
func leavingPassesOn(t *trial) error {
	for range rounds / 2 {
		if err := t.leavingPassesOn(); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) leavingPassesOn() error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	first := t.background(waitingFor(ctx, t.b, t.scope))
	second := t.background(t.locking(t.c))
	if err := t.unlock(holder); err != nil {
		return err
	}
	cancel()
	got := <-first
	if got.err == nil {
		got.err = t.unlock(got.tenure)
	}
	if unknown := new(lock.UnknownError); got.err != nil && !errors.Is(got.err, ctx.Err()) && !errors.As(got.err, &unknown) {
		return fmt.Errorf("of a waiter that left as it was its turn: %w", got.err)
	}
	next := <-second
	if next.err != nil {
		return fmt.Errorf("behind a waiter that left as it was its turn: %w", next.err)
	}
	return t.unlock(next.tenure)
}

func cancelledWaiter(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	second, err := t.b.Lock(ctx, t.scope)
	if err == nil {
		return fmt.Errorf("%+v was granted while %+v was current", second.Grant(), tenure.Grant())
	}
	if !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("the waiter's error is %w, want %w", err, ctx.Err())
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	return t.free(t.c)
}

func tryLockHeld(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.held(t.b); err != nil {
		return err
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	return t.free(t.c)
}
