package fencetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

func failureKeepsMark(ctx context.Context, sub Subject) error {
	if sub.Fail == nil {
		return fmt.Errorf("%w: nothing can fail once it is admitted", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	s.write(claim(33), lock, "old", admitted)
	if s.err != nil {
		return s.err
	}
	failing := claim(34)
	if !sub.NoSequence {
		failing.Sequence = 1
	}
	if err := sub.fail(ctx, s.store, failing, lock, "half"); err == nil {
		return errors.New("an operation that was to fail did not")
	}
	got, _, err := s.store.Read(ctx, unfenced, lock)
	if err != nil {
		return fmt.Errorf("read after a failure: %w", err)
	}
	if got != "old" {
		s.write(claim(33), lock, "stale", fence.ErrStale)
	}
	s.write(failing, lock, "done again", admitted)
	s.read(unfenced, lock, "done again", admitted)
	return s.err
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
