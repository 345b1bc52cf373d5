package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of what a holder still does whose tenure is over, and of how calls end.

// wakeBesideSuccessor has a holder wake up whose lease is over, while its successor has the lock.
func (t *trial) wakeBesideSuccessor() (old, next lock.Tenure, err error) {
	if old, err = t.lockAndCrash(); err != nil {
		return nil, nil, err
	}
	if next, err = t.lock(t.b); err != nil {
		return nil, nil, err
	}
	return old, next, t.wake(t.a)
}

// wakeAfterSuccessor has a holder wake up whose lease is over, when its successor has come and gone.
func (t *trial) wakeAfterSuccessor() (old lock.Tenure, err error) {
	if old, err = t.lockAndCrash(); err != nil {
		return nil, err
	}
	if _, err = t.pass(t.b); err != nil {
		return nil, err
	}
	return old, t.wake(t.a)
}

func wokenStealsNothing(t *trial) error {
	old, next, err := t.wakeBesideSuccessor()
	if err != nil {
		return err
	}
	err = t.throughout(t.TTL, func() error { return errors.Join(current(next), t.held(t.c)) })
	if err != nil {
		return fmt.Errorf("after the holder of %+v woke up: %w", old.Grant(), err)
	}
	if err := t.unlock(next); err != nil {
		return fmt.Errorf("unlock of %+v, after the holder of %+v woke up: %w", next.Grant(), old.Grant(), err)
	}
	return t.throughout(t.TTL, func() error { return t.free(t.c) })
}

func overStaysOver(t *trial) error {
	old, err := t.wakeAfterSuccessor()
	if err != nil {
		return err
	}
	if err := t.throughout(t.TTL, func() error { return t.free(t.c) }); err != nil {
		return fmt.Errorf("after the holder of %+v, which was over, woke up: %w", old.Grant(), err)
	}
	return nil
}

func lossStaysKnown(t *trial) error {
	old, err := t.lockAndCrash()
	if err != nil {
		return err
	}
	select {
	case <-old.Done():
	case <-time.After(4 * t.bound()): // it is another law that the news comes earlier
	}
	for _, then := range []struct {
		when string
		do   func() error
	}{
		{"when it was lost", func() error { return nil }},
		{"when its holder woke up", func() error { return t.wake(t.a) }},
		{"when it was unlocked", func() error { _ = t.unlock(old); return nil }}, // which is about another law
		{"when it was unlocked again", func() error { _ = t.unlock(old); return nil }},
	} {
		if err := then.do(); err != nil {
			return err
		}
		if err := lostNow(old); err != nil {
			return fmt.Errorf("of %+v, %s: %w", old.Grant(), then.when, err)
		}
	}
	return nil
}

func lateUnlockOfNobodys(t *trial) error {
	old, err := t.wakeAfterSuccessor()
	if err != nil {
		return err
	}
	if err := t.unlock(old); !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("unlock of %+v, whose successor has come and gone: %v, want ErrLost", old.Grant(), err)
	}
	return t.free(t.c)
}

// unlockUnderDoneContext: the lock is free, or the holder is told that it may not be.
func unlockUnderDoneContext(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	err = tenure.Unlock(ctx)
	select {
	case <-tenure.Done():
	default:
		return fmt.Errorf("Done is open after Unlock, which returned %v", err)
	}
	switch {
	case err == nil:
		return t.free(t.b)
	case fence.OutcomeOf(err) != fence.Unknown:
		return fmt.Errorf("unlock of %+v, which was current, under a context that was done: %w, want nil or an unknown outcome", tenure.Grant(), err)
	}
	_, err = t.pass(t.b)
	return err
}

// grantWithCancellation ends a wait at about the time at which the lock is free.
func grantWithCancellation(t *trial) error {
	for i := range 4 * rounds {
		if err := t.grantWithCancellation(i%2 == 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) grantWithCancellation(unlockFirst bool) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	waiter := make(chan outcome, 1)
	go func() {
		tenure, err := t.b.Lock(ctx, t.scope)
		waiter <- outcome{tenure, err}
	}()
	time.Sleep(t.TTL / 100) // stands for no event: nothing tells that it is in the queue
	if !unlockFirst {
		go cancel()
	}
	if err := t.unlock(holder); err != nil {
		return err
	}
	cancel()
	var got outcome
	select {
	case got = <-waiter:
	case <-time.After(t.bound()):
		return fmt.Errorf("Lock goes on %v after its context was done", t.bound())
	}
	unknown := new(lock.UnknownError)
	switch {
	case got.err == nil:
		if err := t.held(t.c); err != nil {
			return fmt.Errorf("by %+v, which was granted as the wait ended: %w", got.tenure.Grant(), err)
		}
		if err := t.unlock(got.tenure); err != nil {
			return fmt.Errorf("unlock of what was granted as the wait ended: %w", err)
		}
	case errors.As(got.err, &unknown): // it may be counted in, for the TTL
		_, err := t.pass(t.c)
		return err
	}
	if err := t.free(t.c); err != nil {
		return fmt.Errorf("after a wait that ended as the lock was free, with %v: %w", got.err, err)
	}
	return nil
}
