package locktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of restarts of the service.

// restart restarts the service, and opens a client: one from before may take a while
// to connect again.
func (t *trial) restart() (Client, error) {
	if err := t.Restart(t.ctx); err != nil {
		return Client{}, fmt.Errorf("restart the service: %w", err)
	}
	return t.open()
}

// restarts is how often the service is restarted: one that numbers its starts, or keeps
// the last number but one, is found out later than at the first restart.
const restarts = 4

func grantsAreNewAfterRestarts(t *trial) error {
	before, err := t.pass(t.a)
	if err != nil {
		return err
	}
	seen := owners{before.Owner: before}
	for i := range restarts {
		after, err := t.passAfterRestart()
		if err != nil {
			return err
		}
		if err := errors.Join(seen.see(after), t.grow(before, after)); err != nil {
			return fmt.Errorf("after %d restarts: %w", i+1, err)
		}
		before = after
	}
	return nil
}

func (t *trial) passAfterRestart() (lock.Grant, error) {
	fresh, err := t.restart()
	if err != nil {
		return lock.Grant{}, err
	}
	defer fresh.Close()
	return t.pass(fresh)
}

func restartKeepsHolder(t *trial) error {
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

// waiterOverRestart: one who waits is granted the lock, or is told that it cannot be had.
func waiterOverRestart(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := holder.Grant()
	waiter := t.background(t.locking(t.b))
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	_ = t.unlock(holder) // or it expires
	switch got := <-waiter; {
	case errors.Is(got.err, context.DeadlineExceeded):
		return fmt.Errorf("one who waits since before the restart: %w", got.err)
	case got.err == nil:
		if err := t.grow(was, got.tenure.Grant()); err != nil {
			return err
		}
		_ = t.unlock(got.tenure) // or it expires
	}
	_, err = t.pass(fresh)
	return err
}
