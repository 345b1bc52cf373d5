package attempt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestTerm: extensions take turns, and what is in doubt counts as the shorter lease.
func TestTerm(t *testing.T) {
	begun := time.Now()
	term := attempt.NewTerm(begun.Add(time.Hour), func() { t.Error("it is over") })
	defer term.Over.Stop()
	want := func(d time.Duration) {
		t.Helper()
		if until := term.Until(); !until.Equal(begun.Add(d)) {
			t.Errorf("it lasts %v, want %v", until.Sub(begun), d)
		}
	}
	done, err := term.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := term.Turn(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("while one is under way another one gets %v", err)
	}
	done()
	if done, err = term.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()

	if term.Extended(begun, 2*time.Hour); t.Failed() {
		return
	}
	want(2 * time.Hour)
	term.Doubtful(begun, 3*time.Hour)
	want(2 * time.Hour)
	term.Doubtful(begun, time.Hour)
	want(time.Hour)
	if !term.Extended(begun.Add(-time.Minute), 9*time.Hour) {
		t.Error("an extension that comes late says that the lease is over")
	}
	want(time.Hour)
}

// TestTermOver: a lease that is over is not extended.
func TestTermOver(t *testing.T) {
	over := make(chan struct{})
	term := attempt.NewTerm(time.Now(), func() { close(over) })
	<-over
	if term.Extended(time.Now(), time.Hour) {
		t.Error("it is extended after its end")
	}
}
