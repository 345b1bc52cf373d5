package fencetest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The locks of the checks. Most checks work on one key, named as its lock.
const (
	lock  = "lock-a"
	lock2 = "lock-b"
)

// high is a number above which floats are four apart. Its last 32 bits are 0.
const high = 1 << 54

func claim(t fence.Token) fence.Claim { return of(lock, t) }

func of(scope string, t fence.Token) fence.Claim { return fence.Claim{Scope: scope, Token: t} }

func seq(t fence.Token, n int64) fence.Claim {
	return fence.Claim{Scope: lock, Token: t, Sequence: n}
}

// numbered is a claim with a sequence number, if the store looks at them.
func (sub Subject) numbered(c fence.Claim, n int64) fence.Claim {
	if !sub.NoSequence {
		c.Sequence = n
	}
	return c
}

var unfenced = fence.Claim{Scope: lock}

func staleWriteRefused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "old", admitted)
	s.write(claim(34), lock, "new", admitted)
	s.write(claim(33), lock, "stale", fence.ErrStale)
	s.write(claim(1), lock, "older", fence.ErrStale)
	s.write(claim(33), lock, "", fence.ErrStale)    // an empty value is a value
	s.write(claim(33), lock, "new", fence.ErrStale) // also where it would change nothing
	s.read(unfenced, lock, "new", admitted)
	s.write(claim(35), lock, "new", admitted) // a value that is there already raises the mark as well
	s.write(claim(34), lock, "stale", fence.ErrStale)
	s.read(unfenced, lock, "new", admitted)
	return s.err
}

func staleDeleteRefused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "new", admitted)
	s.delete(claim(33), lock, fence.ErrStale)
	s.read(unfenced, lock, "new", admitted)
	return s.err
}

func staleReadRefused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "new", admitted)
	s.read(claim(33), lock, "", fence.ErrStale)
	s.read(claim(34), lock, "new", admitted)
	s.read(unfenced, lock, "new", admitted)
	s.read(claim(33), lock, "", fence.ErrStale) // also where the answer has been given to others
	s.read(fence.Claim{Scope: lock2, Token: 34}, lock2, "", admitted)
	s.read(fence.Claim{Scope: lock2, Token: 33}, lock2, "", fence.ErrStale) // also that there is none
	return s.err
}

func newerTokenReplaces(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "old", admitted)
	s.write(claim(34), lock, "new", admitted)
	s.read(unfenced, lock, "new", admitted)
	s.delete(claim(35), lock, admitted)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func equalTokenAdmitted(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "first", admitted)
	s.write(claim(33), lock, "second", admitted)
	s.read(claim(33), lock, "second", admitted)
	s.delete(claim(33), lock, admitted)
	s.write(claim(33), lock, "third", admitted)
	s.read(unfenced, lock, "third", admitted)
	return s.err
}

func deleteKeepsMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "new", admitted)
	s.delete(claim(34), lock, admitted)
	s.write(claim(33), lock, "back from the dead", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func restartKeepsMark(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "new", admitted)
	s.delete(claim(34), lock, admitted)
	s.write(sub.numbered(claim(high+3), high+2), lock, "newer", admitted)
	for range restarts {
		s.restart(sub)
		s.read(unfenced, lock, "newer", admitted)
		s.write(claim(high+2), lock, "stale", fence.ErrStale)
		if !sub.NoSequence {
			s.write(seq(high+3, high+1), lock, "late retry", fence.ErrStale)
		}
	}
	s.write(claim(high+3), lock, "newer", admitted)
	return s.err
}

func refusalChangesNothing(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "kept", admitted)
	s.write(claim(32), lock, "stale", fence.ErrStale)
	s.write(unfenced, lock, "missing", fence.ErrNoToken)
	s.write(claim(-1), lock, "invalid", fence.ErrInvalidToken)
	s.read(unfenced, lock, "kept", admitted)
	s.write(claim(33), lock, "still admitted", admitted)
	s.read(unfenced, lock, "still admitted", admitted)
	return s.err
}

func missingTokenRefused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	without := sub.each(0)
	for _, c := range without {
		s.write(c, lock, "first of all", fence.ErrNoToken)
		s.delete(c, lock, fence.ErrNoToken)
	}
	s.write(claim(33), lock, "kept", admitted)
	for _, c := range without {
		s.write(c, lock, "missing", fence.ErrNoToken)
		s.delete(c, lock, fence.ErrNoToken)
		s.read(unfenced, lock, "kept", admitted)
	}
	return s.err
}

// each are claims with a token, one of each sort that the store knows.
func (sub Subject) each(t fence.Token) []fence.Claim {
	claims := []fence.Claim{claim(t)}
	if !sub.NoSequence {
		claims = append(claims, seq(t, 1))
	}
	if !sub.NoShared {
		claims = append(claims, shared(t))
	}
	return claims
}

func readRaisesMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "seen", admitted)
	s.read(unfenced, lock, "seen", admitted)
	s.read(claim(34), lock, "seen", admitted) // also where the answer has been given to others
	s.write(claim(33), lock, "stale", fence.ErrStale)
	s.read(claim(34), lock, "seen", admitted)
	s.write(claim(34), lock, "follows", admitted) // from what it has read
	s.read(unfenced, lock, "follows", admitted)
	if s.err != nil {
		return s.err
	}
	// Also where there is nothing to read yet.
	s = begin(ctx, sub.open)
	s.read(claim(34), lock, "", admitted)
	s.write(claim(33), lock, "stale", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func unfencedReadAllowed(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	without := []fence.Claim{unfenced}
	if !sub.NoShared {
		without = append(without, shared(0))
	}
	for _, c := range without {
		s.read(c, lock, "", admitted)
	}
	s.write(claim(33), lock, "old", admitted)
	for _, c := range without {
		s.read(c, lock, "old", admitted)
	}
	s.write(claim(32), lock, "stale", fence.ErrStale)
	s.write(claim(33), lock, "again", admitted)
	return s.err
}

func invalidTokenRefused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(math.MinInt64), lock, "invalid", fence.ErrInvalidToken)
	for _, c := range sub.each(-1) {
		s.write(c, lock, "invalid", fence.ErrInvalidToken)
		s.delete(c, lock, fence.ErrInvalidToken)
		if c.Sequence == 0 {
			s.read(c, lock, "", fence.ErrInvalidToken)
		}
	}
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func tokensCompareAsNumbers(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	tokens := telling()
	for i, t := range tokens {
		s.write(claim(t), lock, t.String(), admitted)
		if i > 0 {
			s.write(claim(tokens[i-1]), lock, "stale", fence.ErrStale)
		}
	}
	s.read(unfenced, lock, tokens[len(tokens)-1].String(), admitted)
	return s.err
}

// telling are tokens, from the lowest to the highest, by which one sees how they are compared:
// at each of them a number gets a bit, or a digit, more.
func telling() (tokens []fence.Token) {
	for bit := 1; bit < 63; bit++ {
		tokens = append(tokens, 1<<bit+1)
	}
	for ten := fence.Token(10); ten <= math.MaxInt64/10; ten *= 10 {
		tokens = append(tokens, ten-1, ten)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

func largestTokenAdmitted(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	const float = 1 << 53
	s.write(claim(float+1), lock, "above 2^53", admitted)
	s.write(claim(float), lock, "a float's neighbour", fence.ErrStale)
	s.write(claim(math.MaxInt64), lock, "the largest", admitted)
	s.write(claim(math.MaxInt64-1), lock, "the largest but one", fence.ErrStale)
	s.read(unfenced, lock, "the largest", admitted)
	return s.err
}

func aheadRefused(ctx context.Context, sub Subject) error {
	s, err := sub.beginBounded(ctx)
	if err != nil {
		return err
	}
	s.write(claim(41), lock, "the first claim of all", fence.ErrAhead)
	s.write(claim(33), lock, "old", admitted)
	s.write(claim(math.MaxInt64), lock, "poison", fence.ErrAhead)
	s.write(claim(1<<32+33), lock, "not ahead by its last 32 bits", fence.ErrAhead)
	s.write(claim(41), lock, "ahead", fence.ErrAhead)
	s.read(claim(41), lock, "", fence.ErrAhead)
	s.delete(claim(41), lock, fence.ErrAhead)
	s.read(unfenced, lock, "old", admitted)
	s.write(claim(34), lock, "new", admitted)
	s.write(claim(40), lock, "the highest issued", admitted)
	s.read(unfenced, lock, "the highest issued", admitted)
	return s.err
}
