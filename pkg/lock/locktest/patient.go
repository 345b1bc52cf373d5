package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// maxAgain is how often a call is made again, because the service said so.
const maxAgain = 1000

// patient is a backend whose calls are made again where the service says so.
type patient struct {
	lock.Backend
	again func(error) bool
}

func (p patient) retry(call func() error) error {
	err := call()
	for range maxAgain {
		if err == nil || !p.again(err) {
			return err
		}
		err = call()
	}
	return fmt.Errorf("after %d attempts: %w", maxAgain, err)
}

func (p patient) take(ctx context.Context, scope string, from func(context.Context, string) (lock.Tenure, error)) (t lock.Tenure, err error) {
	err = p.retry(func() error {
		t, err = from(ctx, scope)
		if t == nil && err == nil {
			return errors.New("there is neither a tenure nor an error")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return patientTenure{t, p}, nil
}

func (p patient) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return p.take(ctx, scope, p.Backend.TryLock)
}

func (p patient) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return p.take(ctx, scope, p.Backend.Lock)
}

func (p patient) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return p.take(ctx, scope, p.Backend.(lock.Sharer).TryRLock)
}

func (p patient) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return p.take(ctx, scope, p.Backend.(lock.Sharer).RLock)
}

// sharer is c's backend where the subject has shared locks.
func sharer(c Client) lock.Sharer { return c.Backend.(patient) }

type patientTenure struct {
	lock.Tenure
	patient patient
}

func (t patientTenure) Unlock(ctx context.Context) error {
	return t.patient.retry(func() error { return t.Tenure.Unlock(ctx) })
}

// expirer is the tenure by its fixed lease.
func expirer(tenure lock.Tenure) (lock.Expirer, error) {
	t := tenure.(patientTenure).Tenure
	if e, ok := t.(lock.Expirer); ok {
		return e, nil
	}
	return nil, fmt.Errorf("the subject has a fixed lease, and its tenure, a %T, is no lock.Expirer", t)
}

// extender is the tenure by its lease that can be made longer.
func extender(tenure lock.Tenure) (patientExtender, error) {
	e, ok := tenure.(patientTenure).Tenure.(lock.Extender)
	if !ok {
		return patientExtender{}, fmt.Errorf("the subject's tenures are no lock.Extender: %w", errors.ErrUnsupported)
	}
	return patientExtender{e, patientExtensible{e, tenure.(patientTenure).patient}}, nil
}

type patientExtender struct {
	lock.Expirer
	patientExtensible
}

// extensible is the tenure by its lease that is renewed and can be made longer.
func extensible(tenure lock.Tenure) (patientExtensible, error) {
	e, ok := tenure.(patientTenure).Tenure.(lock.Extensible)
	if !ok {
		return patientExtensible{}, fmt.Errorf("the subject's tenures are no lock.Extensible: %w", errors.ErrUnsupported)
	}
	return patientExtensible{e, tenure.(patientTenure).patient}, nil
}

type patientExtensible struct {
	lock.Extensible
	patient patient
}

func (e patientExtensible) Extend(ctx context.Context, d time.Duration) error {
	return e.patient.retry(func() error { return e.Extensible.Extend(ctx, d) })
}
