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
	reader  = func(t *trial) { reads(&t.a) }
	waiter  = func(t *trial) { reads(&t.b) }
	readers = func(t *trial) { reads(&t.a); reads(&t.b) }
	trylock = func(t *trial) { tries(&t.a) }

	readersScopes = otherwise("a reader", reader, scopesApart, namesApart, longNamesApart)

	readersEnd = otherwise("a reader", reader,
		toldOnUnlock, twoUnlocks, overUnlockSaysSo, unlockIsTheTenures, unlockUnderDoneContext)

	readersBeside = otherwise("two readers", readers, grantStays, secondUnlock)

	readersLoss = otherwise("two readers", readers, callsEnd, unansweredUnlock, lossStaysKnown)

	readersWake = otherwise("a reader", reader,
		toldInTime, toldOnLoss, lateUnlockOfNobodys, overStaysOver, grantOutlivesTenure, crashFrees)

	readersWait = otherwise("a reader who waits", waiter, cancelledWaiter, grantWithCancellation)

	readersLive = otherwise("a reader", reader, waiterLives)

	readersStay = otherwise("a reader", reader, waiterGivesWay, wokenStealsNothing)

	readersWaitOn = otherwise("a reader who waits", waiter, waiterGivesWay)

	readersRestart = otherwise("a reader", reader, restartKeepsHolder)

	readersWaitOverRestart = otherwise("a reader who waits", waiter, waiterOverRestart)

	writerOutlivesReader = otherwise("a reader", reader, crashServesWaiters)

	readerOutlivesWriter = otherwise("a writer before a reader", waiter, crashServesWaiters, crashedWaiter)

	readersLease = otherwise("a reader", reader, leaseEnds, leaseLasts)

	trylocksLease = otherwise("a trylock", trylock, leaseEnds, leaseLasts)

	trylocksEnd = otherwise("a trylock", trylock,
		toldOnUnlock, twoUnlocks, overUnlockSaysSo, secondUnlock, unlockIsTheTenures, unlockUnderDoneContext, grantStays)

	trylocksExclude = otherwise("a trylock", trylock, clientExcludesTries)

	trylocksScopes = otherwise("a trylock", trylock, scopesApart)

	trylocksLoss = otherwise("a trylock", trylock, unansweredUnlock, lossStaysKnown)

	trylocksWake = otherwise("a trylock", trylock, toldInTime, lateUnlock, lateUnlockOfNobodys, overStaysOver, grantOutlivesTenure)
)

// each is nil if all of the checks are.
func each(checks ...func(*trial) error) func(*trial) error {
	return func(t *trial) error {
		for _, check := range checks {
			if err := check(t); err != nil {
				return err
			}
		}
		return nil
	}
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
