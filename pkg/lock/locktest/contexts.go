package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of contexts that are done, and of how calls end.

func doneContext(t *trial) error {
	return t.asksForNothing(map[string]func(context.Context, string) (lock.Tenure, error){"Lock": t.a.Lock, "TryLock": t.a.TryLock})
}

// done are contexts that are done, each in a way of its own.
func (t *trial) done() []context.Context {
	cancelled, cancel := context.WithCancel(t.ctx)
	cancel()
	past, cancel := context.WithDeadline(t.ctx, time.Now().Add(-t.TTL))
	cancel()
	return []context.Context{cancelled, past}
}

// asksForNothing is nil if none of the calls grants or leaves anything under a context that
// is done, be the lock free or held, by another client or by the one that asks.
func (t *trial) asksForNothing(calls map[string]func(context.Context, string) (lock.Tenure, error)) error {
	holders := []func() (lock.Tenure, error){nil}
	for _, c := range []Client{t.c, t.a} {
		holders = append(holders, func() (lock.Tenure, error) { return t.lock(c) })
		if t.shares() {
			holders = append(holders, func() (lock.Tenure, error) { return t.rlock(c) })
		}
	}
	for _, hold := range holders {
		var held lock.Tenure
		if hold != nil {
			var err error
			if held, err = hold(); err != nil {
				return err
			}
		}
		for name, take := range calls {
			if err := t.refusesDone(name, take); err != nil {
				return err
			}
		}
		if hold != nil {
			if err := t.unlock(held); err != nil {
				return err
			}
		}
		if err := t.free(t.b); err != nil {
			return err
		}
	}
	return nil
}

// refusesDone is nil if a call returns the error of a context that is done, and no other outcome.
func (t *trial) refusesDone(name string, take func(context.Context, string) (lock.Tenure, error)) error {
	for _, ctx := range t.done() {
		for range rounds {
			tenure, err := take(ctx, t.scope)
			if err == nil {
				return fmt.Errorf("%s granted %+v under a context that was done", name, tenure.Grant())
			}
			if unknown := new(lock.UnknownError); !errors.Is(err, ctx.Err()) || errors.As(err, &unknown) {
				return fmt.Errorf("%s under a context that was done: %w, want the context's error", name, err)
			}
		}
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
		"Lock":    func(ctx context.Context) error { return toldNothing(t.b.Lock(ctx, t.scope)) },
		"TryLock": func(ctx context.Context) error { return toldNothing(t.b.TryLock(ctx, t.scope)) },
		"Unlock":  tenure.Unlock,
	} {
		if err := t.ends(name, call); err != nil {
			return err
		}
	}
	return nil
}

// toldNothing is what a client that is cut off was told of a lock. ErrLocked is an answer, which nobody gave.
func toldNothing(_ lock.Tenure, err error) error {
	if errors.Is(err, lock.ErrLocked) {
		return nil
	}
	return err
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
			return fmt.Errorf("%s of a client that is cut off succeeded, or said ErrLocked", name)
		}
		return nil
	case <-time.After(t.TTL/4 + t.Slack):
		return fmt.Errorf("%s of a client that is cut off goes on %v after its context was done", name, t.Slack)
	}
}

// unlockUnderDoneContext: the lock is free, or the holder is told that it may not be. At the second time another one waits.
func unlockUnderDoneContext(t *trial) error {
	for i, ctx := range t.done() {
		if err := t.unlockUnder(ctx, i > 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) unlockUnder(ctx context.Context, waits bool) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	var next <-chan outcome
	if waits {
		next = t.background(t.locking(t.b))
	}
	err = tenure.Unlock(ctx)
	unknown := new(lock.UnknownError)
	select {
	case <-tenure.Done():
	default:
		return fmt.Errorf("Done is open after Unlock, which returned %v", err)
	}
	if err != nil && !errors.As(err, &unknown) {
		return fmt.Errorf("unlock of %+v, which was current, under a context that was done: %w, want nil or an UnknownError", tenure.Grant(), err)
	}
	if err := tenure.Err(); err != nil {
		return fmt.Errorf("Err is %w after Unlock under a context that was done, want nil", err)
	}
	if waits {
		got := <-next
		if got.err != nil {
			return fmt.Errorf("to one who waited as the lock was unlocked under a context that was done: %w", got.err)
		}
		return t.unlock(got.tenure)
	}
	if err == nil {
		return t.free(t.b)
	}
	_, err = t.pass(t.b)
	return err
}

// unlockAfterUnanswered: the holder tries again when it is no longer cut off, and its successor has the lock.
func unlockAfterUnanswered(t *trial) error {
	old, err := t.lockAndCrash()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	_ = old.Unlock(ctx) // which has no answer
	next, err := t.lock(t.b)
	if err != nil {
		return err
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	return t.freesNothing(old, next)
}

// tryLockCutShort ends the context of a TryLock during the call, sooner or later, or after it.
func tryLockCutShort(t *trial) error {
	if _, err := t.pass(t.a); err != nil { // the first call may take longer than the others
		return err
	}
	began := time.Now()
	tenure, err := t.tryLock(t.a)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := t.unlock(tenure); err != nil {
		return err
	}
	for i := range rounds + 1 {
		ends := took * time.Duration(i+1) / rounds
		if i == rounds {
			ends = t.bound()
		}
		ctx, cancel := context.WithTimeout(t.ctx, ends)
		tenure, err := t.a.TryLock(ctx, t.scope)
		cancel()
		unknown := new(lock.UnknownError)
		switch {
		case err == nil:
			if err := t.unlock(tenure); err != nil {
				return err
			}
		case errors.As(err, &unknown): // it may be counted in, for the TTL
			_, err := t.pass(t.c)
			return err
		}
		if freeErr := t.free(t.c); freeErr != nil {
			return fmt.Errorf("after a TryLock whose context ended during the call, with %v: %w", err, freeErr)
		}
	}
	return nil
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

// lateUnlockUnderDoneContext is made in a trial of its own.
var lateUnlockUnderDoneContext = afresh("a context that is done", func(t *trial) error {
	old, next, err := t.wakeBesideSuccessor()
	if err != nil {
		return err
	}
	told := lostNow(old) == nil
	if err := old.Unlock(t.done()[0]); err == nil {
		return fmt.Errorf("unlock of %+v, which was over, returned nil", old.Grant())
	}
	if err := lossKnown(old); told && err != nil {
		return fmt.Errorf("after the unlock of %+v, which was over: %w", old.Grant(), err)
	}
	if err := t.held(t.c); err != nil {
		return fmt.Errorf("after the unlock of %+v, which was over: %w", old.Grant(), err)
	}
	return t.unlock(next)
})
