package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// lease lets c have the lock, with a lease that is not over.
func (t *trial) lease(c Client) (lock.Tenure, lock.Expirer, error) {
	tenure, err := t.lock(c)
	if err != nil {
		return nil, nil, err
	}
	lease, err := expirer(tenure)
	if err != nil {
		return nil, nil, err
	}
	if until := lease.Until(); !time.Now().Before(until) {
		return nil, nil, fmt.Errorf("%+v was granted until %v, which is over", tenure.Grant(), until)
	}
	return tenure, lease, nil
}

// extension lets c have the lock, with a lease that can be made longer.
func (t *trial) extension(c Client) (lock.Tenure, patientExtender, error) {
	tenure, _, err := t.lease(c)
	if err != nil {
		return nil, patientExtender{}, err
	}
	e, err := extender(tenure)
	return tenure, e, err
}

// lapse is nil if the holder is told that the lease is over, in time.
func (t *trial) lapse(tenure lock.Tenure, lease lock.Expirer) error {
	late := time.Until(lease.Until()) + t.Slack
	select {
	case <-tenure.Done():
	case <-time.After(late):
		return fmt.Errorf("Done is open %v after Until", t.Slack)
	}
	if err := lossKnown(tenure); err != nil {
		return fmt.Errorf("the lease is over: %w", err)
	}
	return nil
}

// lasts is nil if c is not granted the lock before the lease is over.
func (t *trial) lasts(c Client, lease lock.Expirer) error {
	until := lease.Until()
	for time.Now().Before(until) {
		other, err := t.tryLock(c)
		if now := time.Now(); err == nil && now.Before(until) {
			return fmt.Errorf("TryLock granted %+v at %v, and the lease was until %v", other.Grant(), now, until)
		}
		if err == nil {
			return t.unlock(other)
		}
		time.Sleep(t.TTL / 20) // stands for no event: the next look
	}
	return nil
}

func leaseEnds(t *trial) error {
	tenure, lease, err := t.lease(t.a)
	if err != nil {
		return err
	}
	if err := t.lapse(tenure, lease); err != nil {
		return err
	}
	next, err := t.lock(t.b)
	if err != nil {
		return fmt.Errorf("after a lease was over: %w", err)
	}
	return t.freesNothing(tenure, next)
}

func leaseLasts(t *trial) error {
	_, lease, err := t.lease(t.a)
	if err != nil {
		return err
	}
	return t.lasts(t.b, lease)
}

func extendedLease(t *trial) error {
	tenure, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	was := tenure.Grant()
	// One extension may hide what the next one forgets, and a shorter one what it cuts off.
	for _, d := range []time.Duration{t.TTL, 3 * t.TTL, 2 * t.TTL} {
		if err := t.extendsBy(d, lease); err != nil {
			return err
		}
	}
	if is := tenure.Grant(); is != was {
		return fmt.Errorf("%+v became %+v by Extend", was, is)
	}
	if err := t.lasts(t.b, lease); err != nil {
		return fmt.Errorf("after Extend: %w", err)
	}
	if err := t.lapse(tenure, lease); err != nil {
		return err
	}
	if _, err := t.pass(t.b); err != nil {
		return fmt.Errorf("after an extended lease was over: %w", err)
	}
	return nil
}

// extendsBy is nil if an extension by d moves Until.
func (t *trial) extendsBy(d time.Duration, lease patientExtender) error {
	began := time.Now()
	if err := lease.Extend(t.ctx, d); err != nil {
		return fmt.Errorf("extend a lease that is current: %w", err)
	}
	if until := lease.Until(); until.Before(began.Add(d)) || until.After(time.Now().Add(d+t.Slack)) {
		return fmt.Errorf("Extend by %v at %v, and Until is %v", d, began, until)
	}
	return nil
}

// extendedBesideWaiter: one who waits already comes in at the new end, and not at the old one.
func extendedBesideWaiter(t *trial) error {
	_, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	next := t.background(t.locking(t.b))
	if err := t.extendsBy(2*t.TTL, lease); err != nil {
		return fmt.Errorf("while another one waits: %w", err)
	}
	got := <-next
	if got.err != nil {
		return fmt.Errorf("to one who waited while a lease was made longer: %w", got.err)
	}
	if now, until := time.Now(), lease.Until(); now.Before(until) {
		return fmt.Errorf("one who waited was granted %+v at %v, and the lease was made longer until %v", got.tenure.Grant(), now, until)
	}
	return nil
}

func extensionAfterUnlock(t *trial) error {
	tenure, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	if err := t.unlock(tenure); err != nil {
		return err
	}
	was := lease.Until()
	if err := t.overExtended(tenure, lease, "which was released"); err != nil {
		return err
	}
	if is := lease.Until(); !is.Equal(was) {
		return fmt.Errorf("Until was %v, and is %v after an extension of what was released", was, is)
	}
	return nil
}

func overExtension(t *trial) error {
	tenure, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	if err := t.lapse(tenure, lease); err != nil {
		return err
	}
	return t.overExtended(tenure, lease, "which was over")
}

// extendsNothing is nil if an extension of what is over says so.
func (t *trial) extendsNothing(tenure lock.Tenure, lease lock.Extensible, is string) error {
	if err := lease.Extend(t.ctx, 4*t.bound()); !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("extend %+v, %s: %v, want ErrLost", tenure.Grant(), is, err)
	}
	return nil
}

// extendsNotItsNext is nil if an extension of what is over says so while its client has the lock again.
func (t *trial) extendsNotItsNext(tenure lock.Tenure, lease lock.Extensible, is string) error {
	own, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.extendsNothing(tenure, lease, is+", and whose client has the lock again"); err != nil {
		return err
	}
	return t.unlock(own)
}

// overExtended extends what is over, while nobody has the lock, while a successor has it, and while its client has it again.
func (t *trial) overExtended(tenure lock.Tenure, lease lock.Extensible, is string) error {
	if err := t.extendsNothing(tenure, lease, is); err != nil {
		return err
	}
	next, nextLease, err := t.lease(t.b)
	if err != nil {
		return err
	}
	was := nextLease.Until()
	if err := t.extendsNothing(tenure, lease, is+", and has a successor"); err != nil {
		return err
	}
	if until := nextLease.Until(); !until.Equal(was) {
		return fmt.Errorf("Until of %+v was %v, and is %v after an extension of what was over", next.Grant(), was, until)
	}
	if err := errors.Join(t.lasts(t.c, nextLease), t.lapse(next, nextLease)); err != nil {
		return fmt.Errorf("after an extension of the lease before, which was over: %w", err)
	}
	if _, err := t.pass(t.c); err != nil {
		return err
	}
	return t.extendsNotItsNext(tenure, lease, is)
}

// extensionUnderDoneContext: the lease is longer, or what it was.
func extensionUnderDoneContext(t *trial) error {
	_, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	was := lease.Until()
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	began := time.Now()
	err = lease.Extend(ctx, 2*t.TTL)
	is := lease.Until()
	if err == nil {
		if is.Before(began.Add(2 * t.TTL)) {
			return fmt.Errorf("Extend by %v at %v, under a context that was done, and Until is %v", 2*t.TTL, began, is)
		}
		return t.lasts(t.b, lease)
	}
	if !is.Equal(was) {
		return fmt.Errorf("Until was %v, and is %v after an extension that failed: %w", was, is, err)
	}
	return nil
}

func unansweredExtension(t *trial) error {
	_, lease, err := t.extension(t.a)
	if err != nil {
		return err
	}
	was := lease.Until()
	if err := t.crash(t.a); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	err = lease.Extend(ctx, 2*t.TTL)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) {
		return fmt.Errorf("extend by a client that is cut off: %v, want an UnknownError", err)
	}
	if is := lease.Until(); !is.Equal(was) {
		return fmt.Errorf("Until was %v, and is %v after an extension without an answer", was, is)
	}
	return nil
}
