package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of what a holder still does whose tenure is over, when it wakes up.

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

// wokenKeepsNothing: the successor's lease ends when it crashes, whatever the holder before it renews.
func wokenKeepsNothing(t *trial) error {
	old, next, err := t.wakeBesideSuccessor()
	if err != nil {
		return err
	}
	if err := t.crash(t.b); err != nil {
		return err
	}
	if _, err := t.pass(t.c); err != nil {
		return fmt.Errorf("after the holder of %+v woke up, and that of %+v crashed: %w", old.Grant(), next.Grant(), err)
	}
	return nil
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
	var next lock.Tenure
	for _, then := range []struct {
		when string
		do   func() error
	}{
		{"when it was lost", func() error { return nil }},
		{"some time later", func() error { time.Sleep(2 * t.TTL); return nil }}, // stands for no event
		{"when its successor had the lock", func() (err error) { next, err = t.lock(t.b); return err }},
		{"when its holder woke up", func() error { return t.wake(t.a) }},
		{"when its successor had gone", func() error { _ = t.unlock(next); return nil }}, // which is about another law
		{"when it was unlocked", func() error { _ = t.unlock(old); return nil }},         // as above
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
