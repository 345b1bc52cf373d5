package fencetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

func failureKeepsMark(ctx context.Context, sub Subject) error {
	if sub.Fail == nil {
		return fmt.Errorf("%w: nothing can fail once it is admitted", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "old", admitted)
	failing := sub.numbered(claim(34), 1)
	failed := s.fail(sub, failing)
	s.half(failed, "old", claim(33))
	s.write(claim(32), lock, "stale, whatever remains of a failure", fence.ErrStale)
	s.write(failing, lock, "done again", admitted)
	s.read(unfenced, lock, "done again", admitted)
	if !sub.NoSequence {
		s.write(seq(34, 3), lock, "third", admitted)
		s.fail(sub, seq(34, 5))
		s.write(seq(34, 2), lock, "late retry", fence.ErrStale)
		s.write(seq(34, 5), lock, "done again", admitted)
	}
	if sub.Restart != nil {
		failed = s.fail(sub, claim(36))
		s.restart(sub)
		s.half(failed, "done again", claim(35))
	}
	return s.err
}

// half wants a claim refused as stale where something remains of a write that failed.
func (s *steps) half(failed error, before string, stale fence.Claim) {
	if s.err != nil {
		return
	}
	got, _, err := s.store.Read(s.ctx, unfenced, lock)
	switch {
	case err != nil:
		s.err = fmt.Errorf("read after a failure: %w", err)
	case got != before && fence.OutcomeOf(failed) == fence.Definite:
		s.err = unwanted(fmt.Sprintf("a write failed, and the value is %q, though the error %q is definite, as where nothing was done", got, failed), failed)
	case got != before:
		s.write(stale, lock, "stale", fence.ErrStale)
	}
}

// fail makes a write that is to fail, and returns its error.
func (s *steps) fail(sub Subject, c fence.Claim) error {
	if s.err != nil {
		return nil
	}
	err := sub.fail(s.ctx, s.store, c, lock, "half")
	if err == nil {
		s.err = fmt.Errorf("a write with %s that was to fail did not", inWords(c))
	}
	return err
}

// doneContextDoesNothing asks with a context that is done before the request. A store
// that does not look at it does what it is asked for. An error that says of its outcome
// that it is open is not judged.
func doneContextDoesNothing(ctx context.Context, sub Subject) error {
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	for _, done := range []context.Context{canceled, late} {
		for op, after := range map[string]string{opWrite: "35", opDelete: "", opRead: "old"} {
			s := begin(ctx, sub.open)
			s.write(claim(33), lock, "old", admitted)
			if s.err != nil {
				return s.err
			}
			_, err := request(done, s.store, op, claim(35), lock)
			if errors.Is(err, ErrNotApplicable) {
				return err
			}
			if says := (interface{ Outcome() fence.Outcome })(nil); errors.As(err, &says) && says.Outcome() != fence.Definite {
				continue
			}
			if err != nil {
				s.read(unfenced, lock, "old", admitted)
				s.write(claim(34), lock, "next", admitted)
			} else {
				s.read(unfenced, lock, after, admitted)
				s.write(claim(34), lock, "stale", fence.ErrStale)
			}
			if s.err != nil {
				return fmt.Errorf("after %s with %s and a context that is done, which returned %v: %w", op, inWords(claim(35)), err, s.err)
			}
		}
	}
	return nil
}

// maxLooks is up to which look at a context the context ends, one after the other.
const maxLooks = 16

// endsAt is a context that ends when somebody looks at it so often.
type endsAt struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int64
}

func (c *endsAt) look() {
	if c.left.Add(-1) == 0 {
		c.end()
	}
}

func (c *endsAt) Done() <-chan struct{} { c.look(); return c.Context.Done() }
func (c *endsAt) Err() error            { c.look(); return c.Context.Err() }

// endingContextLeavesNoHalf asks with contexts that end at each step of the store at which it looks at them.
func endingContextLeavesNoHalf(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	after := map[string]string{opWrite: "35", opDelete: "", opRead: "old"}
	for _, op := range []string{opWrite, opDelete, opRead} {
		for looks := int64(1); looks <= maxLooks && s.err == nil; looks++ {
			within, end := context.WithCancel(ctx)
			ending := &endsAt{Context: within, end: end}
			ending.left.Store(looks)
			c := sub.numbered(of(fmt.Sprintf("%s-%d", op, looks), 35), 1)
			s.endsWithin(ending, op, c, after[op])
			over := within.Err() != nil
			end()
			if !over { // it does not look so often
				break
			}
		}
	}
	return s.err
}

// endsWithin makes a request in a scope that has a value, and judges what has become of it.
func (s *steps) endsWithin(ctx context.Context, op string, c fence.Claim, after string) {
	scope := c.Scope
	s.write(of(scope, 33), scope, "old", admitted)
	if s.err != nil {
		return
	}
	_, err := request(ctx, s.store, op, c, scope)
	if errors.Is(err, ErrNotApplicable) {
		s.err = err
		return
	}
	value, _, readErr := s.store.Read(s.ctx, of(scope, 0), scope)
	surely := fence.OutcomeOf(err) == fence.Definite
	switch {
	case readErr != nil:
		s.err = fmt.Errorf("read: %w", readErr)
	case value != after && (value != "old" || err == nil):
		s.err = fmt.Errorf("the value is %q, want %q", value, after)
	case err == nil:
		s.write(of(scope, 34), scope, "stale", fence.ErrStale)
	case value != "old" && surely:
		s.err = fmt.Errorf("the value is %q, though the error is definite, as where nothing was done", value)
	case value != "old":
		s.write(of(scope, 34), scope, "stale, as the data is there", fence.ErrStale)
	case surely:
		s.write(of(scope, 34), scope, "no mark was raised", admitted)
	}
	if err != nil && op != opRead {
		s.duplicate(op, c, scope) // or else it is done now
		s.read(of(scope, 0), scope, after, admitted)
	}
	if s.err != nil {
		s.err = fmt.Errorf("after a %s with %s, whose context ended meanwhile, and which returned %v: %w", op, inWords(c), err, s.err)
	}
}
