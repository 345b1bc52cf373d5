package fencetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// A test of a store of your own. The stores here are those of this package's tests.
func ExampleRun() {
	test := func(t *testing.T) {
		fencetest.Run(t, fencetest.Subject{
			Open: func(context.Context) (fencetest.Store, error) { return newCorrect(), nil },
			OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
				s := newCorrect()
				s.register.Bound = func(fence.Claim) (fence.Token, error) { return bound, nil }
				return s, nil
			},
			Again: func(err error) bool { return errors.Is(err, errBusy) },
		})
	}
	_ = test // func TestLaws(t *testing.T) { … }
}
