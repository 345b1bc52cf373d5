package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/webpage"
)

// gate stands between a run's clients and the node. It lets changes through one after the
// other. After each it reads the documents of the locks, and the client has its answer when
// the account has them: also where the change has no answer, or one that does not say which
// documents it has changed. So the account has the node's own order. Requests for the data are
// let through in the same way, reads as well.
type gate struct {
	node    *node
	account *account
	files   *files
	locks   []string
	fail    func(error)

	mu     sync.Mutex // a change goes on
	closed bool
}

// errClosed is what becomes of a change that a client has left behind.
var errClosed = errors.New("the run is over")

// close lets no more changes through.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// handler is the gate for clients, which are no web pages.
func (g *gate) handler() http.Handler { return webpage.Guard(g) }

// headers are those of requests that the node is told.
var headers = []string{"Content-Type", opaqueID}

// ServeHTTP implements http.Handler. The node gets a request whole, and has the time to answer
// it, whatever becomes of the client.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	header := make(http.Header)
	for _, name := range headers {
		if value := r.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	send := func() (*http.Response, []byte, error) {
		return g.node.send(context.WithoutCancel(r.Context()), r.Method, r.RequestURI, header, body)
	}
	var resp *http.Response
	var answer []byte
	question, err := questionOf(r, body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case question != nil:
		resp, answer, err = g.ask(*question, r.Header.Get(opaqueID), send)
	case r.Method == http.MethodGet:
		resp, answer, err = send()
	default:
		resp, answer, err = g.change(r, send)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the outcome is not known: the client gets no answer
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

// change sends a request that may change documents, and has the account take in what came
// of it.
func (g *gate) change(r *http.Request, send func() (*http.Response, []byte, error)) (*http.Response, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, errClosed
	}
	attempt, sent := r.Header.Get(opaqueID), time.Now()
	resp, answer, err := send()
	seen := g.see(attempt, sent)
	if lock := g.lockOf(attempt); seen == nil && lock != "" && err == nil && resp.StatusCode < 300 {
		switch {
		case searches(r):
			seen = g.files.opened(lock, attempt, answer)
		case ends(r):
			g.files.closed(lock, attempt)
		}
	}
	g.failed(seen)
	return resp, answer, err
}

// lockOf is the lock that an attempt is for; "": none of the run's.
func (g *gate) lockOf(attempt string) string {
	i := slices.IndexFunc(g.locks, func(lock string) bool { return isOf(attempt, lock) })
	if i < 0 {
		return ""
	}
	return g.locks[i]
}

// ask sends a request for the data, and has the account take in what came of it.
func (g *gate) ask(question history.Event, attempt string, send func() (*http.Response, []byte, error)) (*http.Response, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, errClosed
	}
	resp, answer, err := send()
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	if question.Op == history.OpRead {
		g.failed(g.files.read(question, status, answer))
		return resp, answer, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), accountDeadline)
	defer cancel()
	now, seen := g.node.file(ctx, question.Scope, question.Key)
	if seen == nil {
		g.files.changed(question, attempt, status, now)
	}
	g.failed(seen)
	return resp, answer, err
}

// failed ends the run where the account does not know what came of a request.
func (g *gate) failed(seen error) {
	if seen != nil {
		g.fail(fmt.Errorf("the account of %s: %w", Name, seen))
	}
}

// accountDeadline is for how long the account waits for the documents of the locks.
const accountDeadline = 10 * time.Second

func (g *gate) see(attempt string, sent time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), accountDeadline)
	defer cancel()
	for _, lock := range ownLast(g.locks, attempt) {
		d, err := g.node.get(ctx, lock)
		if err != nil {
			return err
		}
		g.account.see(lock, d, attempt, sent)
	}
	return nil
}

// ownLast are locks, that of an attempt last: what else the attempt takes, it takes for this
// one.
func ownLast(locks []string, attempt string) []string {
	place := func(lock string) int {
		if isOf(attempt, lock) {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(locks), func(a, b string) int { return place(a) - place(b) })
}
