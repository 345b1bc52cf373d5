package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// panicking is an observer that panics at a kind of event.
type panicking struct{ at lock.EventKind }

func (p panicking) Observe(_ context.Context, e lock.Event) {
	if e.Kind == p.at {
		panic(e.Kind)
	}
}

// TestObserverPanics: where the observer panics as it is told of a grant, nobody gets the tenure, and the lock is free. A
// server that recovers would renew it for ever.
func TestObserverPanics(t *testing.T) {
	b := locktest.NewMemory(time.Minute).Open().Backend
	func() {
		defer func() {
			if recovered := recover(); recovered != lock.Granted {
				t.Errorf("recovered %v, want what the observer said", recovered)
			}
		}()
		_, err := lock.Observe(b, panicking{lock.Granted}).TryLock(t.Context(), scope)
		t.Errorf("the panic ended in TryLock, with %v", err)
	}()
	if _, err := b.TryLock(t.Context(), scope); errors.Is(err, lock.ErrLocked) {
		t.Error("the lock is held by nobody")
	} else if err != nil {
		t.Error(err)
	}
}
