package fence_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func TestRaiseDropsMarksAndRefusesWhatTheyRefused(t *testing.T) {
	var r fence.Register
	for i := range 100 {
		if err := r.Do(t.Context(), fence.Claim{Scope: fmt.Sprint(i), Token: fence.Token(i + 1)}, nothing); err != nil {
			t.Fatal(err)
		}
	}
	if dropped := r.Raise(51); dropped != 50 || r.Len() != 50 || r.Floor() != 51 {
		t.Fatalf("dropped %d, left %d, floor %d, want 50, 50, 51", dropped, r.Len(), r.Floor())
	}
	for i := range 100 {
		scope, own := fmt.Sprint(i), fence.Token(i+1)
		if got, want := r.Mark(scope).Token, max(own, 51); got != want {
			t.Errorf("scope %s: mark %d, want %d", scope, got, want)
		}
		var stale *fence.StaleError
		err := r.Do(t.Context(), fence.Claim{Scope: scope, Token: max(own, 51) - 1}, nothing)
		if !errors.As(err, &stale) || stale.Mark != max(own, 51) || stale.Scope != scope {
			t.Errorf("scope %s: got %v, want a StaleError that names the mark", scope, err)
		}
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "new", Token: 50}, nothing); !errors.Is(err, fence.ErrStale) {
		t.Errorf("below the floor, in a scope that is new: %v", err)
	}
	if n := r.Len(); n != 50 {
		t.Errorf("%d marks: refusals took up memory", n)
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "new", Token: 51}, nothing); err != nil {
		t.Errorf("the floor itself: %v", err)
	}
	if dropped := r.Raise(7); dropped != 0 || r.Floor() != 51 {
		t.Errorf("a lower floor: dropped %d, floor %d, want it to change nothing", dropped, r.Floor())
	}
}

// TestRaiseKnowsBothModes: a shared mark above the floor stays, with its mode.
func TestRaiseKnowsBothModes(t *testing.T) {
	var r fence.Register
	for _, c := range []fence.Claim{
		{Scope: "above", Token: 3}, {Scope: "above", Token: 9, Mode: fence.Shared},
		{Scope: "at", Token: 5, Mode: fence.Shared},
		{Scope: "below", Token: 4, Mode: fence.Shared},
	} {
		if err := r.Do(t.Context(), c, nothing); err != nil {
			t.Fatal(err)
		}
	}
	if dropped := r.Raise(5); dropped != 1 {
		t.Errorf("dropped %d, want that of one scope", dropped)
	}
	want := map[string]fence.Mark{"above": {Token: 5, Shared: 9}, "at": {Token: 5}}
	if got := maps.Collect(r.Marks()); !maps.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
	for _, scope := range []string{"above", "at", "below", "new"} {
		if err := r.Do(t.Context(), fence.Claim{Scope: scope, Token: 4, Mode: fence.Shared}, nothing); !errors.Is(err, fence.ErrStale) {
			t.Errorf("a shared claim below the floor, scope %s: %v", scope, err)
		}
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "above", Token: 5, Mode: fence.Shared}, nothing); err != nil {
		t.Errorf("a shared claim at the floor: %v", err)
	}
}

// TestRaiseUnderWay: whatever is admitted while floors are raised is not below
// the floor that was complete before, no two operations of a scope run at once,
// and when Raise is back nothing older is under way.
func TestRaiseUnderWay(t *testing.T) {
	var r fence.Register
	var complete atomic.Int64
	var running [4]atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				scope := (g + i) % len(running)
				floor := complete.Load()
				token := fence.Token(max(1, floor+int64(i%5)-2))
				err := r.Do(t.Context(), fence.Claim{Scope: fmt.Sprint(scope), Token: token}, func(context.Context) error {
					if n := running[scope].Add(1); n != 1 {
						t.Errorf("%d operations of scope %d at once", n, scope)
					}
					if int64(token) < complete.Load() {
						t.Errorf("token %d runs, and floor %d was complete", token, complete.Load())
					}
					running[scope].Add(-1)
					return nil
				})
				if err == nil && int64(token) < floor {
					t.Errorf("token %d was admitted below floor %d", token, floor)
				}
			}
		})
	}
	for floor := int64(1); floor <= 3000; floor++ {
		r.Raise(fence.Token(floor))
		complete.Store(floor)
	}
	close(stop)
	wg.Wait()
	if n := r.Len(); n > len(running) {
		t.Errorf("%d marks of %d scopes", n, len(running))
	}
}

func TestMaxScopes(t *testing.T) {
	r := fence.Register{MaxScopes: 2}
	do := func(scope string, token fence.Token) error {
		return r.Do(t.Context(), fence.Claim{Scope: scope, Token: token}, nothing)
	}
	for i, want := range []error{nil, nil, fence.ErrTooManyScopes} {
		if err := do(fmt.Sprint(i), 1); !errors.Is(err, want) {
			t.Errorf("scope %d: got %v, want %v", i, err, want)
		}
	}
	if err := do("0", 9); err != nil {
		t.Errorf("a scope that has a mark: %v", err)
	}
	r.Raise(5)
	if err := do("2", 5); err != nil {
		t.Errorf("after the floor made room: %v", err)
	}
	want := map[string]fence.Mark{"0": {Token: 9}, "2": {Token: 5}}
	if got := maps.Collect(r.Marks()); !maps.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
}
