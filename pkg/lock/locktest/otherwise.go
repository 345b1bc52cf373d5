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

// afresh is otherwise where nothing is changed.
func afresh(name string, checks ...func(*trial) error) func(*trial) error {
	return otherwise(name, func(*trial) {}, checks...)
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
	reader   = func(t *trial) { reads(&t.a) }
	waiter   = func(t *trial) { reads(&t.b) }
	readers  = func(t *trial) { reads(&t.a); reads(&t.b) }
	trylock  = func(t *trial) { tries(&t.a) }
	tryrlock = func(t *trial) { reads(&t.a); tries(&t.a) }

	readersScopes = otherwise("a reader", reader, scopesApart, namesApart, longNamesApart)

	readersEnd = eitherReader(toldOnUnlock, twoUnlocks, overUnlockSaysSo, unlockIsTheTenures, unlockUnderDoneContext, grantStays, secondUnlock)

	readersBeside = each(otherwise("two readers", readers, grantStays, secondUnlock),
		otherwise("a writer before a reader", waiter, secondUnlock))

	readersLoss = each(otherwise("two readers", readers, callsEnd), eitherReader(unansweredUnlock, lossStaysKnown))

	readersWake = each(otherwise("a reader", reader, toldOnLoss, crashFrees),
		otherwise("a writer before a reader", waiter, lateUnlock),
		eitherReader(toldInTime, lateUnlock, lateUnlockOfNobodys, overStaysOver, grantOutlivesTenure))

	readersWait = otherwise("a reader who waits", waiter, cancelledWaiter, grantWithCancellation)

	readersLive = each(otherwise("a reader", reader, waiterLives), otherwise("a reader who waits", waiter, lateGrantLives))

	readersStay = each(otherwise("a reader", reader, waiterGivesWay), eitherReader(wokenStealsNothing))

	readersWaitOn = otherwise("a reader who waits", waiter, waiterGivesWay, wokenStealsNothing)

	readersRestart = eitherReader(restartKeepsHolder)

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

	trylocksWake = otherwise("a trylock", trylock, toldInTime, lateUnlock, lateUnlockOfOwn, lateUnlockOfNobodys, overStaysOver, grantOutlivesTenure)
)

// eitherReader makes the checks of a reader by RLock, and of one by TryRLock.
func eitherReader(checks ...func(*trial) error) func(*trial) error {
	return each(otherwise("a reader", reader, checks...), otherwise("a tryrlock", tryrlock, checks...))
}

// way is how a client takes a lock.
type way struct {
	name   string
	change func(*Client)
}

// of is a client whose Lock takes the lock that way.
func (w way) of(c Client) Client {
	w.change(&c)
	return c
}

// ways are all of them. That of Lock is the first.
func (t *trial) ways() []way {
	ways := []way{{"a lock", func(*Client) {}}, {"a trylock", tries}}
	if t.shares() {
		ways = append(ways, way{"a reader", reads}, way{"a tryrlock", func(c *Client) { reads(c); tries(c) }})
	}
	return ways
}

// anyhow makes a check however the lock is taken.
func anyhow(check func(*trial) error) func(*trial) error {
	return func(t *trial) error {
		for _, way := range t.ways() {
			if err := otherwise(way.name, func(t *trial) { way.change(&t.a) }, check)(t); err != nil {
				return err
			}
		}
		return nil
	}
}

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
