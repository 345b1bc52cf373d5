package fence

import (
	"context"
	"errors"
)

// Observe returns a Guard that admits what g refuses, and reports it: for the time in which
// the clients of a service that is in use learn to send tokens. What g admits raises its
// marks. So g knows them when it takes over.
//
// report is called once for each claim that g has judged, before an operation that g would
// refuse runs, and after one that g admits. refused is nil where g admits the claim. Otherwise
// it is what g returned: ErrStale, ErrNoToken, another refusal, ErrNoBound, ErrTooManyScopes or
// ErrDuplicate, by errors.Is. ctx is the caller's, which knows the client. Any number of calls
// of report may go on at once.
//
// An operation that g would refuse runs under the mark that refused it, and leaves the mark as
// it is. It is one step with that mark, and has what g puts into its context, such as a
// transaction. Without a token, in a scope without a mark, it runs under token 1, the lowest.
// Only where g admits not even this, or names no mark, does the operation run without g.
//
// Every other error of g is returned, such as that of a context that was done.
//
// Observe of package lock is another thing: it tells what becomes of locks.
func Observe(g Guard, report func(ctx context.Context, c Claim, refused error)) Guard {
	return observer{watcher{g, report}}
}

type observer struct{ watcher }

// Do implements Guard.
func (o observer) Do(ctx context.Context, c Claim, op func(context.Context) error) error {
	refused, err := o.judge(ctx, c, op)
	if !refused {
		return err
	}
	ran := false
	run := func(ctx context.Context) error {
		ran = true
		return op(ctx)
	}
	under, known := refusing(c.Scope, err)
	if !known {
		under = Claim{Scope: c.Scope, Token: 1}
	}
	for {
		err = o.guard.Do(ctx, under, run)
		if ran || !refuses(err) {
			return err
		}
		if under, known = refusing(c.Scope, err); !known {
			return op(ctx)
		}
	}
}

// refusing is the claim that raised the mark by which another one was refused, if err tells.
func refusing(scope string, err error) (c Claim, known bool) {
	var stale *StaleError
	if !errors.As(err, &stale) || stale.Mark == 0 {
		return c, false
	}
	return Claim{Scope: scope, Token: stale.Mark, Mode: stale.MarkMode}, true
}

// refuses reports whether a Guard says by err that it has judged a claim, and did not run its
// operation.
func refuses(err error) bool {
	for _, refusal := range []error{ErrStale, ErrNoToken, ErrInvalidToken, ErrInvalidSequence, ErrInvalidMode, ErrAhead, ErrNoBound, ErrTooManyScopes, ErrDuplicate} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
