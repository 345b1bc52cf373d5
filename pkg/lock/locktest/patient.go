package locktest

import (
	"context"
	"fmt"

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
		if err == nil || p.again == nil || !p.again(err) {
			return err
		}
		err = call()
	}
	return fmt.Errorf("after %d attempts: %w", maxAgain, err)
}

func (p patient) take(ctx context.Context, scope string, from func(context.Context, string) (lock.Tenure, error)) (t lock.Tenure, err error) {
	err = p.retry(func() error {
		t, err = from(ctx, scope)
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

type patientTenure struct {
	lock.Tenure
	patient patient
}

func (t patientTenure) Unlock(ctx context.Context) error {
	return t.patient.retry(func() error { return t.Tenure.Unlock(ctx) })
}
