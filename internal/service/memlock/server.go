package memlock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/webpage"
	"github.com/fencelab/fencelab/pkg/fence"
)

// server keeps all locks in memory.
type server struct {
	grace time.Duration // between a lease that ran out and the next grant

	mu        sync.Mutex
	count     fence.Token // places that were given out
	queues    map[string]*queue
	places    map[string]*place
	observers map[chan history.Event]string // each with the prefix of the locks of which it is told
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
	holds   bool          // the lock was granted
	settled chan struct{} // closed when the lock is granted, or never will be
}

// command is the server as a process.
func command() *cobra.Command {
	s := &server{queues: make(map[string]*queue), places: make(map[string]*place), observers: make(map[chan history.Event]string)}
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
	mux.HandleFunc("PUT /places/{tenure}", s.of((*server).renew))
	mux.HandleFunc("DELETE /places/{tenure}", s.of((*server).leave))
	mux.HandleFunc("POST /forget", s.serveForget)
	mux.HandleFunc("GET /events", s.serveEvents)
	return mux
}

// serveCount answers with the number of the last place.
func (s *server) serveCount(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, &place{Token: s.count})
}

func answer(w http.ResponseWriter, p *place) {
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
		settled: make(chan struct{}),
	}
	p.lease = time.AfterFunc(ttl, func() { s.expire(p) })
	q.places, s.places[p.Tenure] = append(q.places, p), p
	if !free {
		s.tell(history.KindQueued, p)
	}
	s.advance(q)
	answer(w, p)
}

// advance grants the lock to the first of its queue, unless that has it. It is called
// with the mutex, as remove and tell are.
func (s *server) advance(q *queue) {
	if len(q.places) == 0 || q.rests || q.places[0].holds {
		return
	}
	p := q.places[0]
	p.holds = true
	close(p.settled)
	s.tell(history.KindGranted, p)
}

// remove ends a place without a word.
func (s *server) remove(p *place) *queue {
	p.lease.Stop()
	if !p.holds {
		close(p.settled)
	}
	delete(s.places, p.Tenure)
	q := s.queues[p.scope]
	q.places = slices.DeleteFunc(q.places, func(other *place) bool { return other == p })
	return q
}

// tell tells the observers of a lock. One that is too far behind is told nothing more: it would
// hold up the server.
func (s *server) tell(kind history.Kind, p *place) {
	e := history.Event{At: time.Duration(time.Now().UnixNano()), Lane: name, Kind: kind, Scope: p.scope, Tenure: p.Tenure, Token: p.Token}
	for o, prefix := range s.observers {
		if !strings.HasPrefix(e.Scope, prefix) {
			continue
		}
		select {
		case o <- e:
		default:
			delete(s.observers, o)
			close(o)
		}
	}
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
	if p.holds && s.grace > 0 {
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

// serveWait answers when the lock is granted, or never will be.
func (s *server) serveWait(w http.ResponseWriter, r *http.Request) {
	var p *place
	s.of(func(_ *server, named *place) { p = named })(w, r)
	if p == nil {
		return
	}
	select {
	case <-p.settled:
	case <-r.Context().Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.holds {
		w.WriteHeader(http.StatusGone)
	}
}

// of serves what is to be done with the place that a request names. One that has ended is gone.
func (s *server) of(do func(*server, *place)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.places[r.PathValue("tenure")]; p != nil {
			do(s, p)
		} else {
			w.WriteHeader(http.StatusGone)
		}
	}
}

// renew gives a lease its whole time anew.
func (*server) renew(p *place) {
	p.until = time.Now().Add(p.ttl)
	p.lease.Reset(p.ttl)
}

// leave ends a tenure, or a place in the queue.
func (s *server) leave(p *place) {
	q := s.remove(p)
	s.tell(history.KindEnded, p)
	s.advance(q)
}

// serveForget drops the holders of all locks whose names begin with a prefix, and does
// not say that their tenures have ended: for all that it promised they go on.
func (s *server) serveForget(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for scope, q := range s.queues {
		if strings.HasPrefix(scope, r.FormValue("prefix")) && len(q.places) > 0 && q.places[0].holds {
			s.advance(s.remove(q.places[0]))
		}
	}
}

// mostEvents is how many events of a run its observer can be behind; no test has so many.
const mostEvents = 10_000

// serveEvents tells what happens from now on to the locks whose names begin with a
// prefix.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	events := make(chan history.Event, mostEvents)
	s.mu.Lock()
	s.observers[events] = r.FormValue("prefix")
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.observers, events)
	}()
	lines := json.NewEncoder(w)
	for http.NewResponseController(w).Flush() == nil {
		select {
		case e, open := <-events:
			if !open || lines.Encode(e) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
