package fence_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fencelab/fencelab/pkg/fence"
)

var first = fence.Claim{Scope: "a", Token: 1}

// hold runs an operation until the returned function is called.
func hold(t *testing.T, r *fence.Register) (end func()) {
	t.Helper()
	runs, over := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Do(t.Context(), first, func(context.Context) error { close(runs); <-over; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-runs
	return func() { close(over); wg.Wait() }
}

func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r fence.Register
		end := hold(t, &r)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				err := r.Do(ctx, first, func(context.Context) error { t.Error("ran for one who gave up"); return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want that the context is cancelled", err)
				}
			})
		}
		synctest.Wait() // until all are in the queue
		cancel()
		wg.Wait() // while the first operation runs
		end()
		if err := r.Do(t.Context(), first, nothing); err != nil {
			t.Errorf("after them: %v", err)
		}
	})
}

func TestNothingRunsUnderAContextThatIsDone(t *testing.T) {
	var r fence.Register
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := r.Do(ctx, first, func(context.Context) error { t.Error("ran"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context is cancelled", err)
	}
	if m := r.Mark("a"); m != (fence.Mark{}) {
		t.Errorf("mark %+v, want none: nothing ran", m)
	}
	if err := r.Do(t.Context(), first, nothing); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestTurnsComeInOrder, also where somebody in the middle gives up.
func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r fence.Register
		end := hold(t, &r)
		gives, giveUp := context.WithCancel(t.Context())
		var ran []int
		var wg sync.WaitGroup
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = gives
			}
			wg.Go(func() {
				_ = r.Do(ctx, first, func(context.Context) error { ran = append(ran, i); return nil })
			})
			synctest.Wait() // until it is in the queue
		}
		giveUp()
		synctest.Wait()
		end()
		wg.Wait()
		if want := []int{0, 1, 3, 4}; !slices.Equal(ran, want) {
			t.Errorf("ran in the order %v, want %v", ran, want)
		}
	})
}

// TestGivingUpLosesNoTurn: where the turn comes at the moment at which the context
// ends, it goes to the next one.
func TestGivingUpLosesNoTurn(t *testing.T) {
	var r fence.Register
	for range 2000 {
		end := hold(t, &r)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = r.Do(ctx, first, nothing) })
		wg.Go(cancel)
		end()
		wg.Wait()
		if err := r.Do(t.Context(), first, nothing); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMarkDoesNotWaitForTheOperation: while an operation is under way the mark is that
// of before, token and sequence, and then that of after. Nobody sees one without the
// other.
func TestMarkDoesNotWaitForTheOperation(t *testing.T) {
	asked := false
	r := fence.Register{Bound: func(fence.Claim) (fence.Token, error) { asked = true; return 2, nil }}
	before := fence.Claim{Scope: "a", Token: 1, Sequence: 7}
	if err := r.Do(t.Context(), before, nothing); err != nil {
		t.Fatal(err)
	}
	runs, over := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- r.Do(t.Context(), fence.Claim{Scope: "a", Token: 2, Sequence: 1}, func(context.Context) error { close(runs); <-over; return nil })
	}()
	<-runs
	if m := r.Mark("a"); m != (fence.Mark{Token: 1, Sequence: 7}) {
		t.Errorf("mark %+v, want that of before", m)
	}
	for scope, m := range r.Marks() {
		if scope != "a" || m != (fence.Mark{Token: 1, Sequence: 7}) {
			t.Errorf("scope %s has mark %+v, want that of before", scope, m)
		}
	}
	asked = false
	if err := r.Do(t.Context(), fence.Claim{Scope: "a", Token: 3}, nothing); !errors.Is(err, fence.ErrAhead) || !asked {
		t.Errorf("a claim that is ahead: %v, want it refused at once", err)
	}
	close(over)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if m := r.Mark("a"); m != (fence.Mark{Token: 2, Sequence: 1}) {
		t.Errorf("mark %+v, want that of after", m)
	}
}

type key struct{}

func TestOperationGetsTheContext(t *testing.T) {
	var r fence.Register
	var got any
	err := r.Do(context.WithValue(t.Context(), key{}, "v"), first, func(ctx context.Context) error { got = ctx.Value(key{}); return nil })
	if err != nil || got != "v" {
		t.Errorf("got %v, %v", got, err)
	}
}
