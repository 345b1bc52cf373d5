package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func mustLock(t *testing.T, b lock.Backend) lock.Tenure {
	t.Helper()
	tenure, err := b.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tenure.Unlock(context.Background()) })
	return tenure
}

func TestReenterKeepsTheGrantUntilTheLastUnlock(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := lock.Reenter(m.Open())
		var grants []lock.Grant
		err := lock.Do(t.Context(), b, scope, func(ctx context.Context, g lock.Grant) error {
			grants = append(grants, g)
			return lock.Do(ctx, b, scope, func(ctx context.Context, g lock.Grant) error {
				grants = append(grants, g)
				again, err := b.TryLock(ctx, scope)
				if err != nil {
					return err
				}
				grants = append(grants, again.Grant())
				return again.Unlock(ctx)
			})
		})
		if err != nil || len(grants) != 3 || grants[0] != grants[1] || grants[0] != grants[2] {
			t.Errorf("Do returned %v, with the grants %+v", err, grants)
		}
		if next := mustLock(t, b); next.Grant().Token <= grants[0].Token {
			t.Errorf("the next grant is %+v", next.Grant())
		}
	})
}

// TestReenterCountsHolders: the tenures end in any order, each once.
func TestReenterCountsHolders(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := lock.Reenter(m.Open())
		one, two := mustLock(t, b), mustLock(t, b)
		if err := one.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := one.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("a second Unlock returned %v, want ErrLost", err)
			}
		}
		select {
		case <-one.Done():
		default:
			t.Error("Done is open after Unlock")
		}
		if one.Err() != nil || two.Err() != nil {
			t.Errorf("Err is %v of the one that was unlocked, and %v of the other", one.Err(), two.Err())
		}
		wantHeld(t, m)
		if err := two.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		wantFree(t, m)
	})
}

func TestReenterIsOneHolderToOthers(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		client := m.Open()
		mustLock(t, lock.Reenter(client))
		if _, err := lock.Reenter(client).TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("TryLock of another holder returned %v, want ErrLocked", err)
		}
	})
}

func TestReenterTellsAllOfALossAndThenAsksAnew(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := lock.Reenter(m.Open())
		one, two := mustLock(t, b), mustLock(t, b)
		m.Revoke(one.Grant()) // and b still counts two holders
		<-one.Done()
		<-two.Done()
		if !errors.Is(one.Err(), lock.ErrLost) || !errors.Is(two.Err(), lock.ErrLost) {
			t.Errorf("Err is %v and %v, want ErrLost", one.Err(), two.Err())
		}
		next := mustLock(t, b)
		if next.Grant().Token <= one.Grant().Token {
			t.Errorf("%+v came after %+v", next.Grant(), one.Grant())
		}
		for _, over := range []lock.Tenure{one, two} {
			if err := over.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Unlock of what was lost returned %v, want ErrLost", err)
			}
		}
		again := mustLock(t, b)
		if again.Grant() != next.Grant() {
			t.Errorf("%+v was granted while %+v was current", again.Grant(), next.Grant())
		}
		for _, tenure := range []lock.Tenure{next, again} {
			wantHeld(t, m)
			if err := tenure.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wantFree(t, m)
	})
}

func TestReenterDoesNotKnowWhereItWasCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		c := m.Open()
		b := lock.Reenter(c)
		one, two := mustLock(t, b), mustLock(t, b)
		c.Crash()
		<-one.Done()
		for _, tenure := range []lock.Tenure{one, two} {
			unknown := new(lock.UnknownError)
			if err := tenure.Unlock(t.Context()); !errors.As(err, &unknown) || errors.Is(err, lock.ErrLost) {
				t.Errorf("Unlock returned %v, want an UnknownError", err)
			}
		}
	})
}

// TestReenterAsksOnce: while one call waits for the service, others wait for it.
func TestReenterAsksOnce(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		before := mustLock(t, m.Open())
		b := lock.Reenter(m.Open())
		var tenures [3]lock.Tenure
		var errs [3]error
		var group sync.WaitGroup
		for i := range tenures {
			group.Go(func() { tenures[i], errs[i] = b.Lock(t.Context(), scope) })
		}
		synctest.Wait()
		if _, err := b.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("TryLock returned %v, want ErrLocked", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Lock(ctx, scope); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock returned %v, want the deadline's error", err)
		}
		if err := before.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		group.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		for _, tenure := range tenures {
			if tenure.Grant() != tenures[0].Grant() {
				t.Errorf("%+v and %+v", tenure.Grant(), tenures[0].Grant())
			}
			wantHeld(t, m)
			if err := tenure.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wantFree(t, m)
	})
}

// TestReenterAsksAgain: where the call that asked gives up, the next one asks.
func TestReenterAsksAgain(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		before := mustLock(t, m.Open())
		b := lock.Reenter(m.Open())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := b.Lock(ctx, scope); !errors.Is(err, context.Canceled) {
				t.Errorf("Lock returned %v, want that it was cancelled", err)
			}
		})
		synctest.Wait()
		var next lock.Tenure
		var err error
		group.Go(func() { next, err = b.Lock(t.Context(), scope) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		if err := before.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		group.Wait()
		if err != nil {
			t.Fatal(err)
		}
		wantHeld(t, m)
		if err := next.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
