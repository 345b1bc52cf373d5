package kvhttp

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// scrapes renders what many ask for at once: one rendering at a time, for all who wait for
// it, and after each a rest. So those who ask again and again leave the processors to others.
type scrapes struct {
	render http.Handler

	mu   sync.Mutex
	next map[string]*rendering // by what its form depends on: those that have not begun

	one    chan struct{} // has room for the one that is under way, which guards rested
	rested time.Time
}

// scrapeRest is how long the rest is, in times of what the rendering took.
const scrapeRest = 4

func newScrapes(render http.Handler) *scrapes {
	return &scrapes{render: render, next: make(map[string]*rendering), one: make(chan struct{}, 1)}
}

// rendering is an answer, which is written to it as to an http.ResponseWriter. It has all when done is closed; without a status it failed.
type rendering struct {
	header http.Header
	status int
	body   bytes.Buffer
	done   chan struct{}
}

func (r *rendering) Header() http.Header         { return r.header }
func (r *rendering) WriteHeader(status int)      { r.status = status }
func (r *rendering) Write(b []byte) (int, error) { return r.body.Write(b) }

// ServeHTTP answers by a rendering that began after the request had come.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	form := strings.Join(slices.Concat(req.Header["Accept"], req.Header["Accept-Encoding"]), "\n")
	s.mu.Lock()
	r, joins := s.next[form]
	if !joins {
		r = &rendering{header: make(http.Header), done: make(chan struct{})}
		s.next[form] = r
	}
	s.mu.Unlock()
	if !joins {
		s.make(r, form, req)
	}
	<-r.done
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(cmp.Or(r.status, http.StatusInternalServerError))
	_, _ = w.Write(r.body.Bytes()) // a client that has left misses nothing
}

func (s *scrapes) make(r *rendering, form string, req *http.Request) {
	defer close(r.done) // after a panic, too
	s.one <- struct{}{}
	defer func() { <-s.one }()
	time.Sleep(time.Until(s.rested))
	s.mu.Lock()
	delete(s.next, form)
	s.mu.Unlock()
	begun := time.Now()
	s.render.ServeHTTP(r, req)
	r.status = cmp.Or(r.status, http.StatusOK)
	now := time.Now()
	s.rested = now.Add(scrapeRest * now.Sub(begun))
}
