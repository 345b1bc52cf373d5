package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of those who take again what they hold.

// enter lets a have the lock several times.
func (t *trial) enter() ([]lock.Tenure, error) {
	var tenures []lock.Tenure
	for _, take := range []func(Client) (lock.Tenure, error){t.lock, t.lock, t.tryLock} {
		tenure, err := take(t.a)
		if err != nil {
			return nil, fmt.Errorf("of the holder itself: %w", err)
		}
		tenures = append(tenures, tenure)
	}
	return tenures, nil
}

func reentryKeepsGrant(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	return oneGrant(tenures)
}

func secondUnlockCountsOnce(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	last := len(tenures) - 1
	for i, tenure := range tenures[:last] {
		if err := t.unlock(tenure); err != nil {
			return err
		}
		if err := t.unlock(tenure); !errors.Is(err, lock.ErrLost) {
			return fmt.Errorf("a second unlock at depth %d: %v, want ErrLost", i+1, err)
		}
	}
	if err := errors.Join(t.held(t.b), current(tenures[last])); err != nil {
		return fmt.Errorf("after each of %d unlocks was made twice, of %d that are due: %w", last, len(tenures), err)
	}
	if err := t.unlock(tenures[last]); err != nil {
		return err
	}
	return t.free(t.b)
}

// unlocksAtOnceCountOnce unlocks one of several tenures twice at the same time.
func unlocksAtOnceCountOnce(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	if err := t.unlocksAtOnce(tenures[0]); err != nil {
		return err
	}
	for _, tenure := range tenures[1:] {
		if err := t.unlock(tenure); err != nil {
			return fmt.Errorf("after two unlocks at once of one of %d tenures: %w", len(tenures), err)
		}
	}
	return nil
}

// loseEntered lets a lose what it has several times, and wake up while its successor, b, has the lock.
func (t *trial) loseEntered() (tenures []lock.Tenure, next lock.Tenure, err error) {
	if tenures, err = t.enter(); err != nil {
		return nil, nil, err
	}
	if err := t.crash(t.a); err != nil {
		return nil, nil, err
	}
	if next, err = t.lock(t.b); err != nil {
		return nil, nil, err
	}
	for _, tenure := range tenures {
		if err := t.lost(tenure); err != nil {
			return nil, nil, err
		}
	}
	return tenures, next, t.wake(t.a)
}

// takenAfterLoss: what was lost, and was not unlocked, counts no more.
func takenAfterLoss(t *trial) error {
	tenures, next, err := t.loseEntered()
	if err != nil {
		return err
	}
	if err := t.unlock(next); err != nil {
		return err
	}
	if err := t.takesAnew(tenures[0].Grant()); err != nil {
		return err
	}
	return t.free(t.b)
}

func lostIsNotReentered(t *trial) error {
	tenures, next, err := t.loseEntered()
	if err != nil {
		return err
	}
	if err := t.held(t.a); err != nil {
		return fmt.Errorf("by a successor, to one who had the lock three times: %w", err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/8)
	defer cancel()
	if again, err := t.a.Lock(ctx, t.scope); err == nil {
		return fmt.Errorf("Lock granted %+v while %+v was current", again.Grant(), next.Grant())
	}
	for _, tenure := range tenures {
		if err := t.unlock(tenure); fence.OutcomeOf(err) == fence.Definite {
			return fmt.Errorf("unlock of %+v, which was over: %v, want ErrLost", tenure.Grant(), err)
		}
	}
	if err := t.held(t.c); err != nil {
		return fmt.Errorf("after the unlocks of one who had the lock three times: %w", err)
	}
	return t.unlock(next)
}

// reentryAtOnce has several parts of a client take the lock together.
func reentryAtOnce(t *trial) error {
	var (
		tenures [rounds]lock.Tenure
		errs    [rounds]error
		group   sync.WaitGroup
	)
	for i := range tenures {
		group.Go(func() { tenures[i], errs[i] = t.lock(t.a) })
	}
	group.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("of %d parts of the holder at once: %w", rounds, err)
	}
	if err := oneGrant(tenures[:]); err != nil {
		return err
	}
	for _, tenure := range tenures {
		if err := errors.Join(t.held(t.b), t.unlock(tenure)); err != nil {
			return err
		}
	}
	return t.free(t.b)
}

// oneGrant is nil if all tenures have the same grant.
func oneGrant(tenures []lock.Tenure) error {
	for _, again := range tenures[1:] {
		if was, is := tenures[0].Grant(), again.Grant(); is != was {
			return fmt.Errorf("the holder of %+v was granted %+v", was, is)
		}
	}
	return nil
}

func reenteredLives(t *trial) error {
	return t.outlasts(func(Client) (lock.Tenure, error) {
		tenures, err := t.enter()
		if err != nil {
			return nil, err
		}
		last := len(tenures) - 1
		for _, tenure := range tenures[:last] {
			if err := t.unlock(tenure); err != nil {
				return nil, err
			}
		}
		return tenures[last], nil
	})
}

func takenAnew(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	was := tenures[0].Grant()
	for _, tenure := range tenures {
		if err := t.unlock(tenure); err != nil {
			return err
		}
	}
	return t.takesAnew(was)
}

// takesAnew is nil if a is not granted what it was granted before, now that the lock is free.
func (t *trial) takesAnew(was lock.Grant) error {
	is, err := t.pass(t.a)
	if err != nil {
		return err
	}
	if is.Owner == was.Owner {
		return fmt.Errorf("%+v and %+v have the same owner, and the lock was free in between", was, is)
	}
	return t.grow(was, is)
}

func lastUnlockFrees(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	for i, tenure := range slices.Backward(tenures) {
		if err := t.held(t.b); err != nil {
			return fmt.Errorf("with %d unlocks to come: %w", i+1, err)
		}
		if err := t.unlock(tenure); err != nil {
			return err
		}
	}
	return t.free(t.b)
}
