package fence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// observed are the refusals that were reported; nil: a claim that was admitted.
type observed []error

func (o *observed) report(_ context.Context, _ fence.Claim, refused error) { *o = append(*o, refused) }

// TestObserveAdmits: what the register refuses is done once and reported, and no mark changes.
func TestObserveAdmits(t *testing.T) {
	const bound = 40
	for _, tt := range []struct {
		claim   fence.Claim
		refused error
		mark    fence.Mark // afterwards
	}{
		{fence.Claim{Token: 37}, nil, fence.Mark{Token: 37}},
		{fence.Claim{Token: 34, Sequence: 3}, fence.ErrStale, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: 35, Mode: fence.Shared}, nil, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: 33}, fence.ErrStale, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: 33, Mode: fence.Shared}, fence.ErrStale, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{}, fence.ErrNoToken, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: -1}, fence.ErrInvalidToken, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: 37, Sequence: -1}, fence.ErrInvalidSequence, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: 37, Mode: fence.Shared + 1}, fence.ErrInvalidMode, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
		{fence.Claim{Token: bound + 1}, fence.ErrAhead, fence.Mark{Token: 34, Sequence: 2, Shared: 36}},
	} {
		r := &fence.Register{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
		for _, c := range []fence.Claim{{Scope: "a", Token: 34, Sequence: 2}, {Scope: "a", Token: 36, Mode: fence.Shared}} {
			if err := r.Do(t.Context(), c, nothing); err != nil {
				t.Fatal(err)
			}
		}
		var seen observed
		ran := 0
		tt.claim.Scope = "a"
		err := fence.Observe(r, seen.report).Do(t.Context(), tt.claim, func(context.Context) error { ran++; return nil })
		if err != nil || ran != 1 || r.Mark("a") != tt.mark {
			t.Errorf("%+v: %v, ran %d times, mark %+v, want %+v", tt.claim, err, ran, r.Mark("a"), tt.mark)
		}
		if len(seen) != 1 || !errors.Is(seen[0], tt.refused) {
			t.Errorf("%+v: reported %v, want once %v", tt.claim, seen, tt.refused)
		}
	}
}

// TestObserveWithinTheTenure: late and repeated requests of the tenure run as well.
func TestObserveWithinTheTenure(t *testing.T) {
	var r fence.Register
	var seen observed
	g := fence.Observe(&r, seen.report)
	ran := 0
	for _, n := range []int64{2, 2, 1} {
		err := g.Do(t.Context(), fence.Claim{Scope: "a", Token: 34, Sequence: n}, func(context.Context) error { ran++; return nil })
		if err != nil {
			t.Errorf("sequence %d: %v", n, err)
		}
	}
	if ran != 3 || len(seen) != 3 || seen[0] != nil || !errors.Is(seen[1], fence.ErrDuplicate) || !errors.Is(seen[2], fence.ErrStale) {
		t.Errorf("ran %d times, reported %v", ran, seen)
	}
	if m := r.Mark("a"); m != (fence.Mark{Token: 34, Sequence: 2}) {
		t.Errorf("mark %+v", m)
	}
}

// TestObserveWithoutAMark: the first requests of a rollout show no token, and the issuer may not
// have given out any.
func TestObserveWithoutAMark(t *testing.T) {
	for name, bound := range map[string]func(fence.Claim) (fence.Token, error){
		"no bound":       nil,
		"nothing issued": func(fence.Claim) (fence.Token, error) { return 0, nil },
		"issuer away":    func(fence.Claim) (fence.Token, error) { return 0, errors.New("no answer") },
	} {
		r := &fence.Register{Bound: bound}
		var seen observed
		ran := 0
		err := fence.Observe(r, seen.report).Do(t.Context(), fence.Claim{Scope: "a"}, func(context.Context) error { ran++; return nil })
		if err != nil || ran != 1 || len(seen) != 1 || !errors.Is(seen[0], fence.ErrNoToken) {
			t.Errorf("%s: %v, ran %d times, reported %v", name, err, ran, seen)
		}
		if m := r.Mark("a"); m.Highest() > 1 {
			t.Errorf("%s: mark %+v, which refuses the first tenure", name, m)
		}
	}
}

// TestObserveWithoutRoom: an operation runs also where there is no room for its mark.
func TestObserveWithoutRoom(t *testing.T) {
	var seen observed
	g := fence.Observe(&fence.Register{MaxScopes: 1}, seen.report)
	ran := 0
	for _, scope := range []string{"a", "b"} {
		if err := g.Do(t.Context(), fence.Claim{Scope: scope, Token: 34}, func(context.Context) error { ran++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if ran != 2 || len(seen) != 2 || !errors.Is(seen[1], fence.ErrTooManyScopes) {
		t.Errorf("ran %d times, reported %v", ran, seen)
	}
}

// guard is a Guard by a function.
type guard func(context.Context, fence.Claim, func(context.Context) error) error

func (g guard) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	return g(ctx, c, op)
}

type inStep struct{}

// TestObserveRunsInTheStep: also where the mark rises meanwhile, and only a Guard that names no
// mark is gone around.
func TestObserveRunsInTheStep(t *testing.T) {
	for _, tt := range []struct {
		marks []fence.Token // that refuse, one after the other
		under []fence.Token // what the Guard is asked with
		step  bool
	}{
		{[]fence.Token{34}, []fence.Token{33, 34}, true},
		{[]fence.Token{34, 36, 40}, []fence.Token{33, 34, 36, 40}, true},
		{[]fence.Token{0, 0}, []fence.Token{33, 1}, false},
	} {
		var under []fence.Token
		g := guard(func(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
			under = append(under, c.Token)
			if n := len(under); n <= len(tt.marks) {
				return &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: tt.marks[n-1]}
			}
			return op(context.WithValue(ctx, inStep{}, true))
		})
		var seen observed
		ran, step := 0, false
		err := fence.Observe(g, seen.report).Do(t.Context(), fence.Claim{Scope: "a", Token: 33}, func(ctx context.Context) error {
			ran++
			step, _ = ctx.Value(inStep{}).(bool)
			return nil
		})
		if err != nil || ran != 1 || step != tt.step || !slices.Equal(under, tt.under) || len(seen) != 1 {
			t.Errorf("marks %v: %v, ran %d times, in the step: %v, asked with %v, reported %v", tt.marks, err, ran, step, under, seen)
		}
	}
}

// TestObserveIsNoRetry: an operation whose own error looks like a refusal is not run again, and
// what is no refusal is returned.
func TestObserveIsNoRetry(t *testing.T) {
	var seen observed
	ran := 0
	g := fence.Observe(new(fence.Register), seen.report)
	own := fmt.Errorf("another store: %w", fence.ErrStale)
	if err := g.Do(t.Context(), fence.Claim{Scope: "a", Token: 34}, func(context.Context) error { ran++; return own }); err != own || ran != 1 {
		t.Errorf("%v, ran %d times", err, ran)
	}
	if len(seen) != 1 || seen[0] != nil {
		t.Errorf("reported %v, want that it was admitted", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Do(ctx, fence.Claim{Scope: "a", Token: 34}, func(context.Context) error { ran++; return nil }); !errors.Is(err, context.Canceled) || ran != 1 || len(seen) != 1 {
		t.Errorf("a context that is done: %v, ran %d times, reported %v", err, ran, seen)
	}
}
