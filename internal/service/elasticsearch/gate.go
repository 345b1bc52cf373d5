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
)

// gate stands between a run's clients and the node. It lets changes through one after the
// other. After each it reads the documents of the locks, and the client has its answer when
// the account has them: also where the change has no answer, or one that does not say which
// documents it has changed. So the account has the node's own order.
type gate struct {
	node    *node
	account *account
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
	if r.Method == http.MethodGet {
		resp, answer, err = send()
	} else {
		resp, answer, err = g.change(r.Header.Get(opaqueID), send)
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
func (g *gate) change(attempt string, send func() (*http.Response, []byte, error)) (*http.Response, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, errClosed
	}
	sent := time.Now()
	resp, answer, err := send()
	if seen := g.see(attempt, sent); seen != nil {
		g.fail(fmt.Errorf("the account of %s: %w", Name, seen))
	}
	return resp, answer, err
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
