package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// Shared are servers that are started once and serve several runs: those of lock
// services that take long to start. The zero value has none yet; Exe is as in Options.
type Shared struct {
	Exe string

	mu    sync.Mutex
	group *proc.Group
	byKey map[string]*launching
}

// launching is servers with some settings.
type launching struct {
	done     chan struct{}
	launched service.Launched
	err      error
}

// launch returns the servers of a service with these settings, and starts them where
// nobody has before.
func (s *Shared) launch(ctx context.Context, name string, of service.Shared, world setting.Values) (service.Launched, error) {
	key := name
	for _, setting := range slices.Sorted(maps.Keys(world)) {
		key += fmt.Sprintf(" %s=%s", setting, world[setting])
	}
	s.mu.Lock()
	l, known := s.byKey[key]
	if !known {
		l = &launching{done: make(chan struct{})}
		if s.byKey == nil {
			s.byKey = make(map[string]*launching)
		}
		s.byKey[key] = l
		if s.group == nil {
			s.group, l.err = proc.NewGroup(s.Exe)
		}
		// The first run does not end them: it may be stopped before the others.
		go func() {
			defer close(l.done)
			if l.err == nil {
				l.launched, l.err = of.Launch(context.WithoutCancel(ctx), s.group, world)
			}
		}()
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.launched, l.err
	case <-ctx.Done():
		return service.Launched{}, context.Cause(ctx)
	}
}

// Close ends all of them.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.byKey {
		<-l.done
	}
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}
