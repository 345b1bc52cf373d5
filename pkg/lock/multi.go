package lock

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Multi is Do for the locks of several scopes: f runs under all of them, or does
// not run. It gets a grant for each scope, in the order of the scopes' names and
// without duplicates.
//
// Multi takes the locks one after the other in that order, so that two calls never
// wait for each other, whatever the order in which they name the scopes. Multi
// holds the first ones while it waits for the next, and frees them, in reverse
// order, where it does not get all.
//
// f's context carries the claim of each grant, by its scope, as that of Do does.
//
// When one of the tenures is lost, f's context is cancelled, as that of Do is. f does
// not run where that happens before all locks are granted.
func Multi(ctx context.Context, b Backend, scopes []string, f func(context.Context, []Grant) error) error {
	if len(scopes) == 0 {
		return fence.Definite.New("lock: no scope to lock, want one or more")
	}
	scopes = slices.Compact(slices.Sorted(slices.Values(scopes)))
	return multi(ctx, b, scopes, nil, f)
}

// multi takes the locks that are left to take, and then runs f.
func multi(ctx context.Context, b Backend, left []string, held []Grant, f func(context.Context, []Grant) error) error {
	if len(left) == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f(ctx, held)
	}
	return Do(ctx, b, left[0], func(ctx context.Context, g Grant) error {
		return multi(ctx, b, left[1:], append(held, g), f)
	})
}
