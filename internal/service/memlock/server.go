package memlock

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/webpage"
	"github.com/fencelab/fencelab/pkg/fence"
)

// server keeps all locks in memory.
type server struct {
	grace time.Duration // between a lease that ran out and the next grant

	mu     sync.Mutex
	count  fence.Token // places that were given out
	queues map[string]*queue
	places map[string]*place
	log    []history.Event
	news   chan struct{} // closed when the log grows
}

// queue is that of one lock. The first may be its holder.
type queue struct {
	places []*place
	rests  bool // nobody is granted the lock until the grace is over
}

// place is one in a queue, and then a tenure. It has a lease from its beginning.
type place struct {
	Tenure  string      `json:"tenure"`
	Token   fence.Token `json:"token"`
	scope   string
	ttl     time.Duration
	until   time.Time // the end of the lease
	lease   *time.Timer
	granted chan struct{} // closed when the lock is granted
	ended   chan struct{} // closed when the server knows the place no more
}

func newServer(grace time.Duration) *server {
	return &server{
		grace: grace, queues: make(map[string]*queue), places: make(map[string]*place),
		news: make(chan struct{}),
	}
}

// command is the server as a process. It prints its address when it listens.
func command() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: name, Short: "Serve locks from memory", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), l.Addr())
			return http.Serve(l, webpage.Guard(newServer(grace).handler()))
		},
	}
	cmd.Flags().DurationVar(&grace, settingGrace, 0, "how long after a lease ran out its lock is granted to the next")
	return cmd
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /count", s.serveCount)
	mux.HandleFunc("POST /places", s.serveEnter)
	mux.HandleFunc("GET /places/{tenure}", s.serveWait)
	mux.HandleFunc("PUT /places/{tenure}", s.serveRenew)
	mux.HandleFunc("DELETE /places/{tenure}", s.serveLeave)
	mux.HandleFunc("POST /forget", s.serveForget)
	mux.HandleFunc("GET /events", s.serveEvents)
	return mux
}

// serveCount answers with the number of the last place.
func (s *server) serveCount(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, place{Token: s.count})
}

func answer(w http.ResponseWriter, p place) {
	_ = json.NewEncoder(w).Encode(p) // who does not get it asks again
}

// serveEnter gives out a place at the end of a queue; with try only where it is the
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
	q := s.queues[scope]
	if q == nil {
		q = new(queue)
		s.queues[scope] = q
	}
	free := len(q.places) == 0 && !q.rests
	if r.FormValue("try") != "" && !free {
		w.WriteHeader(http.StatusConflict)
		return
	}
	s.count++
	p := &place{
		Tenure: fmt.Sprintf("place-%d", s.count), Token: s.count, scope: scope, ttl: ttl, until: time.Now().Add(ttl),
		granted: make(chan struct{}), ended: make(chan struct{}),
	}
	p.lease = time.AfterFunc(ttl, func() { s.expire(p) })
	q.places, s.places[p.Tenure] = append(q.places, p), p
	if !free {
		s.tell(history.KindQueued, p)
	}
	s.advance(q)
	answer(w, *p)
}

// advance grants the lock to the first of its queue, unless that has it. It is called
// with the mutex, as those below are.
func (s *server) advance(q *queue) {
	if len(q.places) == 0 || q.rests || isClosed(q.places[0].granted) {
		return
	}
	close(q.places[0].granted)
	s.tell(history.KindGranted, q.places[0])
}

// remove ends a place without a word.
func (s *server) remove(p *place) *queue {
	p.lease.Stop()
	close(p.ended)
	delete(s.places, p.Tenure)
	q := s.queues[p.scope]
	q.places = slices.DeleteFunc(q.places, func(other *place) bool { return other == p })
	return q
}

// tell adds a line to the account.
func (s *server) tell(kind history.Kind, p *place) {
	s.log = append(s.log, history.Event{
		At: time.Duration(time.Now().UnixNano()), Lane: name, Kind: kind, Scope: p.scope, Tenure: p.Tenure, Token: p.Token,
	})
	close(s.news)
	s.news = make(chan struct{})
}

// expire ends a place whose lease has run out. The lock of a holder rests for the grace.
func (s *server) expire(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[p.Tenure] != p || time.Now().Before(p.until) { // it was renewed just now
		return
	}
	q := s.remove(p)
	s.tell(history.KindEnded, p)
	if isClosed(p.granted) && s.grace > 0 {
		q.rests = true
		time.AfterFunc(s.grace, func() { s.wake(q) })
	}
	s.advance(q)
}

// wake ends the rest of a lock.
func (s *server) wake(q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.rests = false
	s.advance(q)
}

// find is the place that a request names; nil where it has ended, which it answers.
func (s *server) find(w http.ResponseWriter, r *http.Request) *place {
	p := s.places[r.PathValue("tenure")]
	if p == nil {
		w.WriteHeader(http.StatusGone)
	}
	return p
}

// serveWait answers when the lock is granted, or never will be.
func (s *server) serveWait(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p := s.find(w, r)
	s.mu.Unlock()
	if p == nil {
		return
	}
	select {
	case <-p.granted:
	case <-p.ended:
		w.WriteHeader(http.StatusGone)
	case <-r.Context().Done():
	}
}

// serveRenew gives a lease its whole time anew.
func (s *server) serveRenew(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(w, r); p != nil {
		p.until = time.Now().Add(p.ttl)
		p.lease.Reset(p.ttl)
	}
}

// serveLeave ends a tenure, or a place in the queue.
func (s *server) serveLeave(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(w, r); p != nil {
		q := s.remove(p)
		s.tell(history.KindEnded, p)
		s.advance(q)
	}
}

// serveForget drops the holders of all locks whose names begin with a prefix, and does
// not say that their tenures have ended: for all that it promised they go on.
func (s *server) serveForget(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for scope, q := range s.queues {
		if strings.HasPrefix(scope, r.FormValue("prefix")) && len(q.places) > 0 && isClosed(q.places[0].granted) {
			s.advance(s.remove(q.places[0]))
		}
	}
}

// serveEvents tells what happens from now on to the locks whose names begin with a
// prefix.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	next := len(s.log)
	s.mu.Unlock()
	lines := json.NewEncoder(w)
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		events, more := s.since(r.Context(), next)
		if !more {
			return
		}
		next += len(events)
		for _, e := range events {
			if strings.HasPrefix(e.Scope, r.FormValue("prefix")) && lines.Encode(e) != nil {
				return
			}
		}
	}
}

// since waits for lines of the account from a place on; false where nobody does any more.
func (s *server) since(ctx context.Context, next int) ([]history.Event, bool) {
	for {
		s.mu.Lock()
		events, news := s.log[next:], s.news
		s.mu.Unlock()
		if len(events) > 0 {
			return events, true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
