package memlock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/webpage"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// server keeps all locks in memory.
type server struct {
	grace time.Duration // between a lease that ran out and the next grant

	mu     sync.Mutex
	count  fence.Token // places that were given out
	lines  map[string]*service.Line
	places map[string]*place // by the tenure; those whose lease goes on
	told   []history.Event   // of all locks, from the beginning
	news   chan struct{}     // closed when more is told
}

// place is one in a line, and then a tenure. It has a lease from its beginning.
type place struct {
	*service.Standing
	line  *service.Line
	ttl   time.Duration
	until time.Time // the end of the lease
	lease *time.Timer
}

// command is the server as a process.
func command() *cobra.Command {
	s := &server{lines: make(map[string]*service.Line), places: make(map[string]*place), news: make(chan struct{})}
	cmd := &cobra.Command{
		Use: name + " ADDRESS", Short: "Serve locks from memory", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return http.ListenAndServe(args[0], webpage.Guard(s.handler()))
		},
	}
	cmd.Flags().DurationVar(&s.grace, settingGrace, 0, "how long after a lease ran out its lock is granted to the next")
	return cmd
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /count", s.serveCount)
	mux.HandleFunc("POST /places", s.serveEnter)
	mux.HandleFunc("GET /places/{tenure}", s.serveWait)
	mux.HandleFunc("PUT /places/{tenure}", s.of(renew))
	mux.HandleFunc("DELETE /places/{tenure}", s.of(func(p *place) { s.tell(s.remove(p)...) }))
	mux.HandleFunc("POST /forget", s.serveForget)
	mux.HandleFunc("GET /events", s.serveEvents)
	return mux
}

// serveCount answers with the number of the last place.
func (s *server) serveCount(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, &service.Standing{Token: s.count})
}

func answer(w http.ResponseWriter, p *service.Standing) {
	_ = json.NewEncoder(w).Encode(p) // who does not get it asks again
}

// serveEnter gives out a place at the end of a line; with try only where it is the
// lock at once.
func (s *server) serveEnter(w http.ResponseWriter, r *http.Request) {
	ttl, err := time.ParseDuration(r.FormValue("ttl"))
	if err != nil {
		http.Error(w, "ttl: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scope := r.FormValue("scope")
	line := s.lines[scope]
	if line == nil {
		line = service.NewLine(name, scope)
		s.lines[scope] = line
	}
	if r.FormValue("try") != "" && len(line.InOrder()) > 0 {
		w.WriteHeader(http.StatusConflict)
		return
	}
	s.count++
	tenure := fmt.Sprintf("place-%d", s.count)
	s.tell(line.Enter(service.Standing{Key: tenure, Tenure: tenure, Token: s.count})...)
	p := &place{Standing: line.At(tenure), line: line, ttl: ttl, until: time.Now().Add(ttl)}
	p.lease = time.AfterFunc(ttl, func() { s.expire(p) })
	s.places[tenure] = p
	answer(w, p.Standing)
}

// tell tells whoever listens. It is called with the mutex, as the two below are.
func (s *server) tell(events ...history.Event) {
	s.told = append(s.told, events...)
	close(s.news)
	s.news = make(chan struct{})
}

// awaitNews waits without the mutex, and reports whether there are news before ctx is done.
func (s *server) awaitNews(ctx context.Context) bool {
	news := s.news
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-news:
		return true
	case <-ctx.Done():
		return false
	}
}

// remove ends a place, and returns what that means: first that it has ended.
func (s *server) remove(p *place) []history.Event {
	p.lease.Stop()
	delete(s.places, p.Tenure)
	return p.line.Leave(p.Key)
}

// expire ends a place whose lease has run out. One that held the lock stands in its line until the
// grace is over.
func (s *server) expire(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[p.Tenure] != p || time.Now().Before(p.until) { // it was renewed just now
		return
	}
	if !p.Granted || s.grace == 0 {
		s.tell(s.remove(p)...)
		return
	}
	delete(s.places, p.Tenure)
	s.tell(p.line.Event(history.KindEnded, p.Standing))
	time.AfterFunc(s.grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tell(p.line.Leave(p.Key)[1:]...)
	})
}

// serveWait answers when the lock is granted, or never will be.
func (s *server) serveWait(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch p := s.places[r.PathValue("tenure")]; {
		case p == nil:
			w.WriteHeader(http.StatusGone)
			return
		case p.Granted || !s.awaitNews(r.Context()):
			return
		}
	}
}

// of serves what is to be done with the place that a request names. One that has ended is gone.
func (s *server) of(do func(*place)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.places[r.PathValue("tenure")]; p != nil {
			do(p)
		} else {
			w.WriteHeader(http.StatusGone)
		}
	}
}

// renew gives a lease its whole time anew.
func renew(p *place) {
	p.until = time.Now().Add(p.ttl)
	p.lease.Reset(p.ttl)
}

// serveForget drops the holders of all locks whose names begin with a prefix, and does
// not say that their tenures have ended: for all that it promised they go on.
func (s *server) serveForget(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for lock, line := range s.lines {
		stand := line.InOrder()
		if len(stand) == 0 || !strings.HasPrefix(lock, r.FormValue("prefix")) {
			continue
		}
		if first := s.places[stand[0].Key]; first != nil {
			s.tell(s.remove(first)[1:]...)
		}
	}
}

// serveEvents tells what happens from now on to the locks whose names begin with a
// prefix.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	next := len(s.told)
	s.mu.Unlock()
	lines := json.NewEncoder(w)
	for r.Context().Err() == nil && http.NewResponseController(w).Flush() == nil {
		news := s.after(r.Context(), next)
		for _, e := range news {
			if strings.HasPrefix(e.Scope, r.FormValue("prefix")) && lines.Encode(e) != nil {
				return
			}
		}
		next += len(news)
	}
}

// after waits for what is told after the first n events, or until ctx is done.
func (s *server) after(ctx context.Context, n int) []history.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.told) == n && s.awaitNews(ctx) {
	}
	return s.told[n:]
}
