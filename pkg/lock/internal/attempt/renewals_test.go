package attempt_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestRenewals: each renewal is told to those who hold the lease, and to nobody else.
func TestRenewals(t *testing.T) {
	var r attempt.Renewals
	failed := errors.New("failed")
	said := make(map[string][]error)
	holder := func(name string) (end func()) {
		life, end := context.WithCancel(t.Context())
		r.Listen(life, func(_ time.Duration, err error) { said[name] = append(said[name], err) })
		return end
	}
	renew := func(held bool, err error) {
		t.Helper()
		gotHeld, gotErr := r.Ask("somelock", "/lock", func() (bool, error) { return held, err })
		if gotHeld != held || !errors.Is(gotErr, err) {
			t.Errorf("got %v, %v, want %v, %v", gotHeld, gotErr, held, err)
		}
		if gotErr != nil && gotErr.Error() != `somelock: renew "/lock": failed` {
			t.Errorf("%v does not say what failed", gotErr)
		}
	}
	endFirst := holder("first")
	renew(true, nil)
	endSecond := holder("second")
	defer endSecond()
	renew(false, failed)
	endFirst()
	renew(true, nil)
	renew(false, nil) // the lock is not held any more
	for name, want := range map[string][]error{"first": {nil, failed}, "second": {failed, nil}} {
		if !slices.EqualFunc(said[name], want, errors.Is) {
			t.Errorf("the %s was told %v, want %v", name, said[name], want)
		}
	}
}

// TestRenewalsCostNothing: where nobody listens.
func TestRenewalsCostNothing(t *testing.T) {
	var r attempt.Renewals
	renew := func() (bool, error) { return true, nil }
	if n := testing.AllocsPerRun(100, func() {
		_, _ = r.Ask("somelock", "/lock", renew)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRenewalsForgetTheOver: a lease that lasts keeps nothing of those who have left it.
func TestRenewalsForgetTheOver(t *testing.T) {
	var r attempt.Renewals
	forgotten := make(chan struct{}, 100)
	for range cap(forgotten) {
		life, end := context.WithCancel(t.Context())
		heard := new([16]byte)
		runtime.AddCleanup(heard, func(struct{}) { forgotten <- struct{}{} }, struct{}{})
		r.Listen(life, func(time.Duration, error) { heard[0]++ })
		end()
	}
	runtime.GC()
	for range cap(forgotten) - 1 { // the last one may be there
		select {
		case <-forgotten:
		case <-time.After(2 * time.Minute):
			t.Fatal("something is kept")
		}
	}
	r.Tell(0, nil)
}
