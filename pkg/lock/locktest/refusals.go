package locktest

import (
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of what errors say.

func refusals(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	_, err = t.tryLock(t.b)
	if err := refusal(err, lock.ErrLocked); err != nil {
		return fmt.Errorf("of TryLock on a held lock: %w", err)
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	if err := refusal(t.unlock(tenure), lock.ErrLost); err != nil {
		return fmt.Errorf("of a second Unlock: %w", err)
	}
	return nil
}

// refusal is nil if err says that it is this refusal, and nothing else.
func refusal(err, want error) error {
	if err == nil {
		return fmt.Errorf("it succeeded, want %q", want)
	}
	if !errors.Is(err, want) {
		return fmt.Errorf("%w, want %q", err, want)
	}
	for _, other := range []error{lock.ErrLocked, lock.ErrLost, lock.ErrCutOff} {
		if other != want && errors.Is(err, other) {
			return fmt.Errorf("%w is also %q", err, other)
		}
	}
	if is, want := fence.OutcomeOf(err), fence.OutcomeOf(want); is != want {
		return fmt.Errorf("%w has the outcome %v, want %v", err, is, want)
	}
	return nil
}

// unansweredWait ends the wait of a client that is cut off.
func unansweredWait(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	end, err := t.crashInQueue(t.b)
	waited := end()
	if err != nil {
		return err
	}
	if waited == nil {
		return errors.New("a waiter that is cut off was granted a lock that is held")
	}
	if err := t.unlock(holder); err != nil {
		return err
	}
	if fence.OutcomeOf(waited) == fence.Definite {
		if err := t.free(t.c); err != nil {
			return fmt.Errorf("behind a waiter that was cut off, and said %q, whose outcome is definite: %w", waited, err)
		}
		return nil
	}
	_, err = t.pass(t.c)
	return err
}
