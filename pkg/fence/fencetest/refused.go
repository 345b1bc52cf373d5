package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fencelab/fencelab/pkg/fence"
)

func refusedReadTellsNothing(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "secret", admitted)
	claims := []fence.Claim{claim(33), claim(-1)}
	if !sub.NoShared {
		claims = append(claims, shared(33))
	}
	s.readNothing(claims...)
	if !sub.NoShared {
		s.read(shared(36), lock, "secret", admitted)
		s.readNothing(claim(35))
	}
	if sub.OpenBounded == nil || s.err != nil {
		return s.err
	}
	s = begin(ctx, sub.openBounded)
	s.write(claim(34), lock, "secret", admitted)
	s.readNothing(claim(bound + 1))
	return s.err
}

// readNothing wants reads refused, and nothing beside the error.
func (s *steps) readNothing(claims ...fence.Claim) {
	for _, c := range claims {
		if s.err != nil {
			return
		}
		value, ok, err := s.store.Read(s.ctx, c, lock)
		switch {
		case errors.Is(err, ErrNotApplicable):
			s.err = err
		case err == nil:
			s.err = fmt.Errorf("read %s with %s: was admitted, want it refused", lock, inWords(c))
		case ok || value != "":
			s.err = unwanted(fmt.Sprintf("read %s with %s: it was refused, and returned %q (there: %v) beside the error %q", lock, inWords(c), value, ok, err), err)
		}
	}
}

func invalidSequenceRefused(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(36, -1), lock, "the first claim of all", fence.ErrInvalidSequence)
	s.write(seq(33, 2), lock, "kept", admitted)
	for _, n := range []int64{-1, math.MinInt64} {
		s.write(seq(33, n), lock, "invalid", fence.ErrInvalidSequence)
		s.delete(seq(33, n), lock, fence.ErrInvalidSequence)
		s.write(seq(36, n), lock, "invalid", fence.ErrInvalidSequence)
		s.delete(seq(36, n), lock, fence.ErrInvalidSequence)
	}
	s.read(unfenced, lock, "kept", admitted)
	s.write(seq(33, 1), lock, "late retry", fence.ErrStale)
	s.write(seq(33, 3), lock, "no mark was raised", admitted)
	s.read(unfenced, lock, "no mark was raised", admitted)
	return s.err
}

func unknownModeRefused(ctx context.Context, sub Subject) error {
	modes := []fence.Mode{fence.Shared + 1, math.MaxUint8}
	if sub.NoShared {
		modes = append(modes, fence.Shared)
	}
	for _, mode := range modes {
		for _, op := range []string{opWrite, opDelete, opRead} {
			s := begin(ctx, sub.open)
			s.write(claim(33), lock, "kept", admitted)
			s.ofUnknownMode(sub, op, fence.Claim{Scope: lock, Token: 36, Mode: mode}, "kept")
			s.ofUnknownMode(sub, op, fence.Claim{Scope: lock2, Token: 36, Mode: mode}, "") // the scope's first claim
			if s.err != nil {
				return s.err
			}
		}
	}
	return nil
}

// ofUnknownMode wants a request refused, and nothing of it. A store without shared claims may do it.
func (s *steps) ofUnknownMode(sub Subject, op string, c fence.Claim, before string) {
	if s.err != nil {
		return
	}
	what := fmt.Sprintf("%s %s with %s", op, c.Scope, inWords(c))
	_, err := request(s.ctx, s.store, op, c, c.Scope)
	if !sub.NoShared {
		s.judge(what, err, fence.ErrInvalidMode)
	}
	switch {
	case errors.Is(err, ErrNotApplicable):
		s.err = err
		return
	case err == nil:
		s.write(of(c.Scope, 35), c.Scope, "stale", fence.ErrStale)
	default:
		s.read(of(c.Scope, 0), c.Scope, before, admitted)
		s.write(of(c.Scope, 33), c.Scope, "no mark was raised", admitted)
	}
	if s.err != nil {
		s.err = fmt.Errorf("after %s: %w", what, s.err)
	}
}
