package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

// Shared are servers that start once and serve several runs, as they start slowly. The zero value has none
// yet; Exe and Waits are as in Options.
type Shared struct {
	Exe   string
	Waits func(text string)

	mu    sync.Mutex
	group *proc.Group
	open  context.Context // ends with Close
	end   context.CancelFunc
	byKey map[string]*launching
}

type launching struct {
	done     chan struct{}
	launched service.Launched
	err      error
}

// launch returns the servers of a service with these settings, and starts them where nobody has before.
func (s *Shared) launch(ctx context.Context, of *service.Service, world setting.Values) (service.Launched, error) {
	key := fmt.Sprint(of.Name, world) // which has the settings in order
	s.mu.Lock()
	l, known := s.byKey[key]
	if !known {
		l = &launching{done: make(chan struct{})}
		if s.byKey == nil {
			s.byKey = make(map[string]*launching)
		}
		s.byKey[key] = l
		if s.group == nil {
			if s.group, l.err = proc.NewGroup(s.Exe); l.err == nil {
				s.group.Waits = s.Waits
			}
			// The first run does not end them: it may be stopped before the others.
			s.open, s.end = context.WithCancel(context.WithoutCancel(ctx))
		}
		go func() {
			defer close(l.done)
			if l.err == nil {
				ctx, cancel := starting(s.open)
				defer cancel()
				l.launched, l.err = of.Launch(ctx, s.group, world)
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

// Close ends all of them, also those that are still being started.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
	}
	for _, l := range s.byKey {
		<-l.done
	}
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}

type world struct {
	group   *proc.Group
	storage *storage
	clients map[string]*clientProcess
	links   map[string]*links
	readers sync.WaitGroup

	ends sync.Map // processes whose end the story wants
}

func newWorld(exe string) (*world, error) {
	group, err := proc.NewGroup(exe)
	if err != nil {
		return nil, err
	}
	return &world{group: group, clients: make(map[string]*clientProcess), links: make(map[string]*links)}, nil
}

func (w *world) close() error {
	err := w.group.Close()
	for _, n := range w.links {
		n.close()
	}
	if w.storage != nil {
		w.storage.close()
	}
	w.readers.Wait()
	return err
}

// readLines hands over each line of a process. Its end ends the run, unless it was meant, and so does a line
// that is refused. A line is gone when the next one is read.
func (r *run) readLines(p *proc.Process, in io.Reader, line func([]byte) error) {
	err := p.ReadLines(in, line)
	if refused := new(proc.LineError); errors.As(err, &refused) {
		p = nil
	}
	r.Fail(p, err)
}

// Roles are the commands that the lab starts processes with, which the program Options.Exe must have.
func Roles(services []*service.Service) []*cobra.Command {
	roles := []*cobra.Command{storagecmd.Command(), clientcmd.Command(services), proc.Janitor()}
	for _, role := range roles {
		role.Hidden = true
	}
	for _, s := range services {
		if s.Command != nil {
			roles = append(roles, s.Command())
		}
	}
	return roles
}
