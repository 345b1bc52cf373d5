package proctest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Shared is what all tests of a program share, as a server that takes long to start. The first that asks for it starts it.
// TestMain closes it.
type Shared[T any] struct {
	once  sync.Once
	group *proc.Group
	is    T
	err   error
}

// Get starts it in a group, within a time, unless it was started before.
func (s *Shared[T]) Get(t testing.TB, within time.Duration, start func(context.Context, *proc.Group) (T, error)) T {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		if s.group, s.err = proc.NewGroup(os.Args[0]); s.err == nil {
			s.is, s.err = start(ctx, s.group)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.is
}

// Close ends its group, if it was started.
func (s *Shared[T]) Close() error {
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}
