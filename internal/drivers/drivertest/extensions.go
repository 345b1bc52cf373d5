package drivertest

import (
	"context"
	"errors"
	"sync"
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
