// Package drivertest has what tests of several drivers do.
package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// deadline is for what is sure to happen. Java starts slowly on a machine with much to do.
const deadline = 3 * time.Minute

// Law is the law of a name.
func Law(t *testing.T, name string) locktest.Law {
	t.Helper()
	for _, l := range locktest.Laws {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("there is no law %q", name)
	return locktest.Law{}
}

// LawsOfRestarts puts a lock to the laws that restart the service, each in a test of its own.
func LawsOfRestarts(t *testing.T, s locktest.Subject) {
	t.Helper()
	for _, l := range locktest.Laws {
		if !l.Restarts {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			if l.Waits {
				need.Night(t, "to look on for more than a lease that outlasts a restart")
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			switch err := l.Check(ctx, s); {
			case s.Restart != nil && errors.Is(err, errors.ErrUnsupported):
				t.Skip(err)
			case err != nil:
				t.Error(err)
			}
		})
	}
}
