package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// steps runs a list of requests in order against one store and stops at the
// first that does not come out as it must.
type steps struct {
	ctx   context.Context
	store Store
	err   error
}

func begin(ctx context.Context, open func(context.Context) (Store, error)) *steps {
	store, err := open(ctx)
	if err != nil {
		err = fmt.Errorf("open: %w", err)
	}
	return &steps{ctx: ctx, store: store, err: err}
}

// beginTwo is begin for a law about two processes on the same data.
func (sub Subject) beginTwo(ctx context.Context) (one, two *steps, err error) {
	one = begin(ctx, sub.open)
	two, err = sub.beginSecond(ctx, one)
	return one, two, err
}

// beginSecond begins the second process on the data of the first.
func (sub Subject) beginSecond(ctx context.Context, one *steps) (*steps, error) {
	switch {
	case sub.Second == nil:
		return nil, fmt.Errorf("%w: no second process can open the data", ErrNotApplicable)
	case one.err != nil:
		return nil, one.err
	}
	store, err := sub.second(ctx, one.store)
	if err != nil {
		return nil, fmt.Errorf("open a second one: %w", err)
	}
	return &steps{ctx: ctx, store: store}, nil
}

// beginSequence is begin for a law about sequence numbers.
func (sub Subject) beginSequence(ctx context.Context) (*steps, error) {
	if sub.NoSequence {
		return nil, fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// beginTelling is begin for a law about what a stale refusal names.
func (sub Subject) beginTelling(ctx context.Context) (*steps, error) {
	if sub.Terse {
		return nil, fmt.Errorf("%w: a stale refusal names no mark", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// bound is the highest token that was issued, in laws about those that were not.
const bound = 40

// beginBounded is begin for a law about tokens that were not issued: those over bound.
func (sub Subject) beginBounded(ctx context.Context) (*steps, error) {
	if sub.OpenBounded == nil {
		return nil, fmt.Errorf("%w: the store knows no bound", ErrNotApplicable)
	}
	return begin(ctx, sub.openBounded), nil
}

func (sub Subject) openBounded(ctx context.Context) (Store, error) {
	return sub.patient(sub.OpenBounded(ctx, bound))
}

// beginShared is begin for a law about shared claims.
func (sub Subject) beginShared(ctx context.Context) (*steps, error) {
	if sub.NoShared {
		return nil, fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// restarts is how many of them a law makes, one after the other: what one leaves may
// lack what the next one needs.
const restarts = 3

// restart crashes the store and goes on with what is left.
func (s *steps) restart(sub Subject) {
	if s.err != nil {
		return
	}
	if s.store, s.err = sub.restart(s.ctx, s.store); s.err != nil {
		s.err = fmt.Errorf("restart: %w", s.err)
	}
}

// The outcomes that a step can want besides a refusal's error.
var admitted error

func (s *steps) write(c fence.Claim, key, value string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("write %s=%s with %s", key, value, inWords(c)), s.store.Write(s.ctx, c, key, value), want)
	}
}

func (s *steps) delete(c fence.Claim, key string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("delete %s with %s", key, inWords(c)), s.store.Delete(s.ctx, c, key), want)
	}
}

// request does op, and reports whether it was done; what it reads is not judged.
func (s *steps) request(op string, c fence.Claim, key string) (done bool) {
	if s.err == nil {
		_, err := request(s.ctx, s.store, op, c, key)
		s.judge(fmt.Sprintf("%s %s with %s", op, key, inWords(c)), err, admitted)
	}
	return s.err == nil
}

// read wants the value, or no value where it is empty.
func (s *steps) read(c fence.Claim, key, value string, want error) {
	if s.err != nil {
		return
	}
	got, ok, err := s.store.Read(s.ctx, c, key)
	what := fmt.Sprintf("read %s with %s", key, inWords(c))
	s.judge(what, err, want)
	if s.err == nil && err == nil && (got != value || ok != (value != "")) {
		s.err = fmt.Errorf("%s: got %q (there: %v), want %q", what, got, ok, value)
	}
}

// inWords is a claim for people.
func inWords(c fence.Claim) string {
	text := fmt.Sprintf("token %d in the scope %s", c.Token, named(c.Scope))
	if c.Token == 0 {
		text = "no token in the scope " + named(c.Scope)
	}
	if c.Sequence != 0 {
		text += fmt.Sprintf(", sequence %d", c.Sequence)
	}
	if c.Mode != fence.Exclusive {
		text += ", " + c.Mode.String()
	}
	return text
}

// named is a scope's name, quoted where something of it would not be seen.
func named(scope string) string {
	if quoted := fmt.Sprintf("%+q", scope); quoted != `"`+scope+`"` || strings.TrimSpace(scope) != scope || scope == "" {
		return quoted
	}
	return scope
}

func (s *steps) judge(what string, got, want error) {
	switch {
	case errors.Is(got, ErrNotApplicable):
		s.err = got
	case want == nil && got != nil:
		s.err = unwanted(fmt.Sprintf("%s: got error %q, want it admitted", what, got), got)
	case want != nil && got == nil:
		s.err = fmt.Errorf("%s: was admitted, want refusal %q", what, want)
	case want != nil && !errors.Is(got, want):
		s.err = unwanted(fmt.Sprintf("%s: got error %q, want refusal %q", what, got, want), got)
	}
}

// unwanted is an error with a text of its own that wraps what the store said.
func unwanted(text string, got error) error { return &unwantedError{text, got} }

type unwantedError struct {
	text string
	got  error
}

func (e *unwantedError) Error() string { return e.text }
func (e *unwantedError) Unwrap() error { return e.got }
