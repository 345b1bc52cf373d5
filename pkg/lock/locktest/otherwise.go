package locktest

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of tenures that are taken by Lock, once more for those that are taken otherwise.

// otherwise is nil if each of the checks is, in a trial of its own that is changed before.
func otherwise(name string, change func(*trial), checks ...func(*trial) error) func(*trial) error {
	return func(t *trial) error {
		for _, check := range checks {
			err := try(t.ctx, t.Subject, func(t *trial) error { change(t); return check(t) })
			if err != nil {
				return fmt.Errorf("of %s: %w", name, err)
			}
		}
		return nil
	}
}

// reads has a client take the lock shared.
func reads(c *Client) { c.Backend = lock.Shared(sharer(*c)) }

// tries has a client take the lock by TryLock.
func tries(c *Client) { c.Backend = trying{c.Backend} }

type trying struct{ lock.Backend }

func (b trying) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.TryLock(ctx, scope)
}

var (
	readersEnd = otherwise("a reader", func(t *trial) { reads(&t.a) },
		toldOnUnlock, twoUnlocks, unlockUnderDoneContext)

	readersLoss = otherwise("a reader", func(t *trial) { reads(&t.a); reads(&t.b) },
		callsEnd, unansweredUnlock, lossStaysKnown)

	readersWait = otherwise("a reader who waits", func(t *trial) { reads(&t.b) },
		cancelledWaiter, grantWithCancellation)

	writerOutlivesReader = otherwise("a reader", func(t *trial) { reads(&t.a) }, crashServesWaiters)

	readerOutlivesWriter = otherwise("a writer before a reader", func(t *trial) { reads(&t.b) },
		crashServesWaiters, crashedWaiter)

	trylocksEnd = otherwise("a trylock", func(t *trial) { tries(&t.a) },
		unansweredUnlock, lossStaysKnown, unlockUnderDoneContext)
)

func crashServesModes(t *trial) error {
	for _, check := range []func(*trial) error{writerOutlivesReader, readerOutlivesWriter, crashedWriter} {
		if err := check(t); err != nil {
			return err
		}
	}
	return nil
}

// crashedWriter: a writer that waited behind a reader has crashed.
func crashedWriter(t *trial) error {
	if _, err := t.rlock(t.a); err != nil {
		return err
	}
	end, err := t.crashInQueue(t.b)
	defer end()
	if err != nil {
		return err
	}
	other, err := t.rlock(t.c)
	if err != nil {
		return fmt.Errorf("to a reader beside a reader, behind a writer that crashed: %w", err)
	}
	return t.unlock(other)
}
