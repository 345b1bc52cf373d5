// Package serve is the lab on a page: a person tells a story step by step, and the page shows what real
// processes do meanwhile. A world is a run of package lab whose steps come from requests.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
)

// Options of New. All without a default are required.
type Options struct {
	Language  *scenario.Language
	Scenarios []*scenario.Scenario // that can be loaded by name
	// Lab is how to run a variant, or why that cannot be done here.
	Lab func(v *scenario.Variant) (lab.Options, error)
	// Missing is why no scenario of a lock service can be run; "" where they can.
	Missing func(service string) string
	// Judge judges a history that is over. err is what ended the run before its end.
	Judge func(events []history.Event, err error) story.Result
	// Chapter is the address of the chapter about a scenario; "" where there is none.
	Chapter func(scenario string) string

	Worlds int           // that can be open at once; 0: 10
	Alone  time.Duration // for so long a world stays that no page shows; 0: 10 s
	Idle   time.Duration // for so long a world stays in which nobody does anything; 0: 10 min
}

// Server is the worlds and the pages that show them. It is an http.Handler.
type Server struct {
	Options
	handler http.Handler
	closing chan struct{}

	mu     sync.Mutex
	worlds map[string]*world
	closed bool
	ends   sync.WaitGroup
}

func New(o Options) *Server {
	o.Worlds, o.Alone, o.Idle = cmp.Or(o.Worlds, 10), cmp.Or(o.Alone, 10*time.Second), cmp.Or(o.Idle, 10*time.Minute)
	s := &Server{Options: o, closing: make(chan struct{}), worlds: make(map[string]*world)}
	s.handler = s.routes()
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all worlds and returns when nothing of them is left. Requests that show worlds end.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	for _, w := range s.worlds {
		w.mu.Lock()
		w.forget(errClosing)
		w.mu.Unlock()
	}
	s.mu.Unlock()
	s.ends.Wait()
}

var (
	errClosing = errors.New("gcsim ends")
	errAlone   = errors.New("no page shows this world any more")
)

func (s *Server) open(b beginning) (*world, error) {
	o, err := s.Lab(b.variant)
	if err != nil {
		return nil, problem{http.StatusConflict, err.Error()}
	}
	w := newWorld(strings.ToLower(rand.Text()[:12]), s, b)
	if err := w.take(b.plan[:b.first]...); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	w.cancel = cancel
	s.mu.Lock()
	defer s.mu.Unlock()
	running, refusal := 0, ""
	for _, other := range s.worlds {
		if !other.isOver() {
			running++
		}
	}
	switch {
	case s.closed:
		refusal = errClosing.Error()
	case running >= s.Worlds:
		refusal = fmt.Sprintf("%d worlds are open, and no more can be at once: close the page of one, or end its story", running)
	}
	if refusal != "" {
		cancel(nil)
		return nil, problem{http.StatusServiceUnavailable, refusal}
	}
	s.worlds[w.id] = w
	// The page that has asked for the world has some time more until it shows the world.
	w.alone = time.AfterFunc(s.Alone+10*time.Second, w.leaveAlone)
	s.ends.Go(func() {
		w.run(ctx, o)
		<-w.left
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.worlds, w.id)
	})
	return w, nil
}

func (s *Server) world(id string) (*world, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.worlds[id]; w != nil {
		return w, nil
	}
	return nil, problem{http.StatusNotFound, fmt.Sprintf("there is no world %q: it has ended, or gcsim was started anew", id)}
}
