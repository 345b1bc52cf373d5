package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of leases that are renewed, and that can be made longer.

// extends lets a have the lock, with a lease that can be made longer.
func (t *trial) extends() (lock.Tenure, patientExtensible, error) {
	tenure, err := t.lock(t.a)
	if err != nil {
		return nil, patientExtensible{}, err
	}
	e, err := extensible(tenure)
	return tenure, e, err
}

// extendedIsRenewed: the client lives on when the time is over that was asked for.
func extendedIsRenewed(t *trial) error {
	tenure, lease, err := t.extends()
	if err != nil {
		return err
	}
	if err := lease.Extend(t.ctx, t.TTL); err != nil {
		return fmt.Errorf("extend a tenure that is current: %w", err)
	}
	if err := t.goesOn(tenure); err != nil {
		return fmt.Errorf("after the time of an extension: %w", err)
	}
	return nil
}

// goesOn is nil if a tenure lasts for longer than without renewals.
func (t *trial) goesOn(tenure lock.Tenure) error {
	time.Sleep(t.bound() + t.TTL/2) // stands for no event: it is renewed meanwhile
	if err := t.held(t.b); err != nil {
		return fmt.Errorf("though the client lives: %w", err)
	}
	return t.unlock(tenure)
}

// extendedLives: the holder crashes after some more renewals.
func extendedLives(t *trial) error {
	tenure, lease, err := t.extends()
	if err != nil {
		return err
	}
	was, d := tenure.Grant(), 3*t.TTL
	until := time.Now().Add(d)
	if lease.Extend(t.done()[0], d) != nil { // which says so where it is made
		if err := lease.Extend(t.ctx, d); err != nil {
			return fmt.Errorf("extend a tenure that is current: %w", err)
		}
	}
	if err := lease.Extend(t.ctx, t.TTL/2); err != nil {
		return fmt.Errorf("extend by less than there is: %w", err)
	}
	time.Sleep(t.TTL) // stands for no event: it is renewed meanwhile
	if err := t.crash(t.a); err != nil {
		return err
	}
	err = t.throughout(time.Until(until)-t.TTL/4, func() error { return errors.Join(current(tenure), t.held(t.b)) })
	if err != nil {
		return fmt.Errorf("the holder crashed, and the lease was made longer until %v: %w", until, err)
	}
	if err := same(tenure, was, "by Extend"); err != nil {
		return err
	}
	if _, err := t.pass(t.b); err != nil {
		return fmt.Errorf("after an extended lease was over: %w", err)
	}
	if err := t.lost(tenure); err != nil {
		return err
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	return t.extendsNothing(tenure, lease, "which was lost")
}

// extensions are refused, or not known, as those of a fixed lease are. One that was made ends with the release.
func extensions(t *trial) error {
	tenure, lease, err := t.extends()
	if err != nil {
		return err
	}
	if err := lease.Extend(t.ctx, 3*t.TTL); err != nil {
		return fmt.Errorf("extend a tenure that is current: %w", err)
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/8)
	defer cancel()
	err = lease.Extend(ctx, t.TTL)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) {
		return fmt.Errorf("extend by a client that is cut off: %v, want an UnknownError", err)
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	if err := t.extendsNothing(tenure, lease, "which was released"); err != nil {
		return err
	}
	if err := t.free(t.b); err != nil {
		return fmt.Errorf("after the release of an extended tenure: %w", err)
	}
	if err := t.extendsNotItsNext(tenure, lease, "which was released"); err != nil {
		return err
	}
	next, err := t.lock(t.b)
	if err != nil {
		return err
	}
	if err := t.extendsNothing(tenure, lease, "which was released, and has a successor"); err != nil {
		return err
	}
	return errors.Join(t.held(t.c), t.unlock(next))
}
