package drivertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// ExtensionsTakeTurns: while an Extend has no answer, another one waits for its turn. So what the service does last
// is what the holder was told last. hold puts a call between what the service does and its answer. The lease is long,
// so that it does not run out.
func ExtensionsTakeTurns(t *testing.T, lease lock.Extender, long time.Duration, hold func(answer func())) {
	t.Helper()
	sent, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	hold(func() { first.Do(func() { close(sent); <-release }) })
	slow := make(chan error)
	go func() { slow <- lease.Extend(t.Context(), 2*long) }()
	<-sent
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := lease.Extend(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("Extend returned %v, want that it did not get its turn", err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
	if left := time.Until(lease.Until()); left < long {
		t.Errorf("the lease lasts %v, want what was extended", left)
	}
}

// LateExtension: a request to extend, whose caller waits no more, is still on its way. The next one waits for its turn: else
// the service could carry out the earlier one last, and the lease would be shorter than its holder believes. hold puts a call
// between the sender and the service; the call returns when the request may go on.
func LateExtension(t *testing.T, lease lock.Extender, long time.Duration, hold func(onItsWay func())) {
	t.Helper()
	release := make(chan struct{})
	var met atomic.Bool
	hold(func() {
		if !met.Swap(true) {
			<-release
		}
	})
	for _, tt := range []struct {
		d    time.Duration
		want fence.Outcome
	}{{long, fence.Unknown}, {10 * long, fence.Definite}} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := lease.Extend(ctx, tt.d); !errors.Is(err, context.DeadlineExceeded) || fence.OutcomeOf(err) != tt.want {
			t.Errorf("Extend(%v) returned %v, %v, want that its context ended, %v", tt.d, err, fence.OutcomeOf(err), tt.want)
		}
	}
	close(release)
	if err := lease.Extend(t.Context(), 10*long); err != nil {
		t.Error(err)
	}
	if left := time.Until(lease.Until()); left < 9*long {
		t.Errorf("the lease lasts %v, want what was extended", left)
	}
}
