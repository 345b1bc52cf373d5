package fence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestWatchChangesNothing: each claim is judged as without Watch, and each judgement is
// reported once, by the caller's context.
func TestWatchChangesNothing(t *testing.T) {
	type key struct{}
	failed := errors.New("failed")
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "caller"))
	cancel()
	done := ctx
	ctx = context.WithValue(t.Context(), key{}, "caller")
	for _, tt := range []struct {
		ctx      context.Context
		claim    fence.Claim
		op       error
		want     error
		reported []error
	}{
		{ctx, fence.Claim{Scope: "a", Token: 35}, nil, nil, []error{nil}},
		{ctx, fence.Claim{Scope: "a", Token: 35}, failed, failed, []error{nil}},
		{ctx, fence.Claim{Scope: "a", Token: 33}, nil, fence.ErrStale, []error{fence.ErrStale}},
		{ctx, fence.Claim{Scope: "a"}, nil, fence.ErrNoToken, []error{fence.ErrNoToken}},
		{ctx, fence.Claim{Scope: "a", Token: 34, Sequence: 2}, nil, fence.ErrDuplicate, []error{fence.ErrDuplicate}},
		{ctx, fence.Claim{Scope: "b", Token: 34}, nil, fence.ErrTooManyScopes, []error{fence.ErrTooManyScopes}},
		{ctx, fence.Claim{Scope: "a", Token: 35}, fence.ErrStale, fence.ErrStale, []error{nil}}, // another store's
		{done, fence.Claim{Scope: "a", Token: 35}, nil, context.Canceled, nil},
	} {
		run := func(watch func(fence.Guard) fence.Guard) (mark fence.Mark, ran int, err error) {
			r := &fence.Register{MaxScopes: 1}
			if err := r.Do(t.Context(), fence.Claim{Scope: "a", Token: 34, Sequence: 2}, nothing); err != nil {
				t.Fatal(err)
			}
			err = watch(r).Do(tt.ctx, tt.claim, func(context.Context) error { ran++; return tt.op })
			return r.Mark("a"), ran, err
		}
		var seen observed
		mark, ran, err := run(func(g fence.Guard) fence.Guard { return g })
		watchedMark, watchedRan, watchedErr := run(func(g fence.Guard) fence.Guard {
			return fence.Watch(g, func(ctx context.Context, c fence.Claim, refused error) {
				if ctx.Value(key{}) != "caller" || c != tt.claim {
					t.Errorf("%+v: reported is %+v, by %v", tt.claim, c, ctx)
				}
				seen.report(ctx, c, refused)
			})
		})
		if !errors.Is(watchedErr, tt.want) || !errors.Is(err, tt.want) || watchedRan != ran || watchedMark != mark {
			t.Errorf("%+v: %v, ran %d times, mark %+v; without Watch %v, ran %d times, mark %+v", tt.claim, watchedErr, watchedRan, watchedMark, err, ran, mark)
		}
		if len(seen) != len(tt.reported) || len(seen) == 1 && !errors.Is(seen[0], tt.reported[0]) {
			t.Errorf("%+v: reported %v, want %v", tt.claim, seen, tt.reported)
		}
	}
}

// TestUnwatchedCostsNothing: a Register whose claims nobody watches allocates nothing.
func TestUnwatchedCostsNothing(t *testing.T) {
	var r fence.Register
	ctx, claim := t.Context(), fence.Claim{Scope: "a", Token: 34}
	if n := testing.AllocsPerRun(100, func() { _ = r.Do(ctx, claim, nothing) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
