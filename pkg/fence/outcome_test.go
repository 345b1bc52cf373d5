package fence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func TestOutcomeOf(t *testing.T) {
	plain := errors.New("plain")
	wrapped := func(err error) error { return fmt.Errorf("while at it: %w", err) }
	lost, cutOff, unknown := fence.Lost.New("lost"), fence.CutOff.New("cut off"), fence.Unknown.New("unknown")
	for _, test := range []struct {
		err  error
		want fence.Outcome
	}{
		{nil, fence.Definite},
		{plain, fence.Unknown},
		{wrapped(plain), fence.Unknown},
		{context.DeadlineExceeded, fence.Unknown},
		{wrapped(nil), fence.Unknown},
		{lost, fence.Lost},
		{wrapped(lost), fence.Lost},
		{errors.Join(lost, cutOff), fence.CutOff},
		{errors.Join(cutOff, wrapped(lost)), fence.CutOff},
		{errors.Join(plain, lost), fence.Lost},
		{errors.Join(lost, wrapped(unknown)), fence.Unknown},
		{errors.Join(plain, plain), fence.Unknown},
		{fmt.Errorf("%w: %w", fence.ErrNoBound, plain), fence.Definite},
		{wrapped(fence.Definite.Wrap(plain)), fence.Definite},
		{fence.Unknown.Wrap(lost), fence.Unknown},
	} {
		if got := fence.OutcomeOf(test.err); got != test.want {
			t.Errorf("the outcome of %v is %v, want %v", test.err, got, test.want)
		}
	}
}

// TestRefusalsAreDefinite: so are all errors of Do's own.
func TestRefusalsAreDefinite(t *testing.T) {
	for _, err := range []error{
		fence.ErrStale, fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrInvalidSequence, fence.ErrInvalidMode,
		fence.ErrInvalidScope, fence.ErrAhead, fence.ErrNoBound, fence.ErrTooManyScopes, fence.ErrDuplicate,
		&fence.StaleError{}, &fence.AheadError{},
	} {
		if got := fence.OutcomeOf(fmt.Errorf("here: %w", err)); got != fence.Definite {
			t.Errorf("%v is %v, want it definite", err, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var marks fence.Register
	err := marks.Do(ctx, fence.Claim{Scope: "/a", Token: 1}, func(context.Context) error { return nil })
	if got := fence.OutcomeOf(err); got != fence.Definite || !errors.Is(err, context.Canceled) {
		t.Errorf("%v is %v; the operation did not run", err, got)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for o, want := range map[fence.Outcome]string{
		fence.Unknown: "unknown", fence.CutOff: "cut off", fence.Lost: "lost", fence.Definite: "definite", 9: "unknown",
	} {
		if o.String() != want {
			t.Errorf("outcome %d is %q, want %q", o, o, want)
		}
	}
}
