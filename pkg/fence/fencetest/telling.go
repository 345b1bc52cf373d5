package fencetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// What refusals tell.

func refusalIsDefinite(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "kept", admitted)
	s.refusedFor(append(sub.each(33), sub.each(-1)...)...)
	if !sub.NoSequence {
		s.write(seq(34, 2), lock, "second", admitted)
		s.refusedFor(seq(34, -1), seq(34, 1))
	}
	if s.err == nil {
		s.definite(opWrite, unfenced)
		s.definite(opDelete, unfenced)
	}
	if sub.OpenBounded == nil || s.err != nil {
		return s.err
	}
	s = begin(ctx, sub.openBounded)
	s.refusedFor(claim(bound + 1))
	return s.err
}

// refusedFor makes requests of each sort that are to be refused.
func (s *steps) refusedFor(claims ...fence.Claim) {
	for _, c := range claims {
		s.definite(opWrite, c)
		s.definite(opDelete, c)
		if c.Sequence == 0 {
			s.definite(opRead, c)
		}
	}
}

// definite wants a request refused, and the error to say so.
func (s *steps) definite(op string, c fence.Claim) {
	if s.err != nil {
		return
	}
	what := fmt.Sprintf("%s %s with %s", op, lock, inWords(c))
	switch _, err := request(s.ctx, s.store, op, c, lock); {
	case errors.Is(err, ErrNotApplicable):
		s.err = err
	case err == nil:
		s.err = fmt.Errorf("%s: was admitted, want it refused", what)
	case fence.OutcomeOf(err) != fence.Definite:
		s.err = unwanted(fmt.Sprintf("%s: the outcome of the error %q is %v, want it definite: nothing was done", what, err, fence.OutcomeOf(err)), err)
	}
}

func refusalNamesBothTokens(ctx context.Context, sub Subject) error {
	s, err := sub.beginTelling(ctx)
	if err != nil {
		return err
	}
	s.write(claim(1<<53+1), lock, "new", admitted)
	s.names(opWrite, claim(1<<53), fence.StaleError{Scope: lock, Token: 1 << 53, Mark: 1<<53 + 1})
	return s.err
}

func everyRefusalNamesBothTokens(ctx context.Context, sub Subject) error {
	s, err := sub.beginTelling(ctx)
	if err != nil {
		return err
	}
	mark := fence.Token(34)
	for _, raise := range []string{opWrite, opDelete, opRead} {
		s.request(raise, claim(mark), lock)
		for _, op := range []string{opWrite, opDelete, opRead} {
			s.names(op, claim(mark-1), fence.StaleError{Scope: lock, Token: mark - 1, Mark: mark})
		}
		mark += 2
	}
	return s.err
}

func refusalNamesTheSequence(ctx context.Context, sub Subject) error {
	s, err := sub.beginTelling(ctx)
	if err != nil {
		return err
	}
	if sub.NoSequence {
		return fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	s.write(seq(33, 3), lock, "third", admitted)
	s.names(opWrite, seq(33, 2), fence.StaleError{Scope: lock, Token: 33, Mark: 33, Sequence: 2, MarkSequence: 3})
	s.delete(seq(33, 5), lock, admitted)
	s.names(opWrite, seq(32, 7), fence.StaleError{Scope: lock, Token: 32, Mark: 33}) // none where the token is stale
	s.names(opDelete, seq(33, 4), fence.StaleError{Scope: lock, Token: 33, Mark: 33, Sequence: 4, MarkSequence: 5})
	return s.err
}

func refusalNamesTheMode(ctx context.Context, sub Subject) error {
	if sub.NoShared {
		return fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	s, err := sub.beginTelling(ctx)
	if err != nil {
		return err
	}
	s.write(claim(33), lock, "old", admitted)
	s.read(shared(36), lock, "old", admitted)
	for _, op := range []string{opWrite, opDelete, opRead} {
		s.names(op, claim(35), fence.StaleError{Scope: lock, Token: 35, Mark: 36, MarkMode: fence.Shared})
	}
	s.names(opWrite, claim(32), fence.StaleError{Scope: lock, Token: 32, Mark: 36, MarkMode: fence.Shared})
	s.names(opWrite, shared(32), fence.StaleError{Scope: lock, Token: 32, Mark: 33})
	return s.err
}

// names wants a request refused as stale, with these words.
func (s *steps) names(op string, c fence.Claim, want fence.StaleError) {
	if s.err != nil {
		return
	}
	what := fmt.Sprintf("%s %s with %s", op, lock, inWords(c))
	_, err := request(s.ctx, s.store, op, c, lock)
	var stale *fence.StaleError
	switch {
	case errors.Is(err, ErrNotApplicable):
		s.err = err
	case !errors.As(err, &stale):
		s.err = unwanted(fmt.Sprintf("%s: got error %v, want a *fence.StaleError", what, err), err)
	case *stale != want:
		s.err = fmt.Errorf("%s: got %+v, want %+v", what, *stale, want)
	}
}
