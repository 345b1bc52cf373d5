package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/webpage"
)

// gate stands between a run's clients and the nodes, with a door before each of them. It lets
// changes through one after the other. After each it reads the documents of the locks, and the
// client has its answer when the account has them: also where the change has no answer, or one
// that does not say which documents it has changed. So the account has the nodes' own order.
// Requests for the data are let through in the same way, reads as well.
type gate struct {
	node    *node // that the account asks
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

// door is where clients, which are no web pages, reach a node.
type door struct {
	*gate
	node     *node
	isolated bool // the others do not hear of what the node is asked for, nor does the account; guarded by mu
}

// isolate has the node be isolated when no change is under way.
func (d *door) isolate(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
	d.isolated = true
}

// handler is the door for clients.
func (d *door) handler() http.Handler { return webpage.Guard(d) }

// headers are those of requests that the node is told.
var headers = []string{"Content-Type", opaqueID}

// sending sends a request to the node, and returns the answer and its body.
type sending func() (*http.Response, []byte, error)

// ServeHTTP implements http.Handler. The node gets a request whole, and has the time to answer
// it, whatever becomes of the client.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	var send sending = func() (*http.Response, []byte, error) {
		return d.node.send(context.WithoutCancel(r.Context()), r.Method, r.RequestURI, header, body)
	}
	question, err := questionOf(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pass := send
	if question != nil || r.Method != http.MethodGet {
		pass = func() (*http.Response, []byte, error) { return d.inOrder(r, question, send) }
	}
	resp, answer, err := pass()
	if err != nil {
		panic(http.ErrAbortHandler) // the outcome is not known: the client gets no answer
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

// accountDeadline is for how long the account waits for what came of a request.
const accountDeadline = 10 * time.Second

// inOrder sends a request for the data, or one that may change documents, and has the account take
// in what came of it. Where the account does not know that the run ends.
func (d *door) inOrder(r *http.Request, question *history.Event, send sending) (*http.Response, []byte, error) {
	d.mu.Lock()
	if d.isolated { // it has no answer to a change: none is the cluster's
		d.mu.Unlock()
		return send()
	}
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, errClosed
	}
	sent := time.Now()
	resp, answer, err := send()
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	ctx, cancel := context.WithTimeout(context.Background(), accountDeadline)
	defer cancel()
	var seen error
	if question != nil {
		seen = d.seeData(ctx, *question, r.Header.Get(opaqueID), status, answer)
	} else {
		seen = d.seeLocks(ctx, r, sent, status, answer)
	}
	if seen != nil {
		d.fail(fmt.Errorf("the account of %s: %w", Name, seen))
	}
	return resp, answer, err
}

// seeLocks has the account take in the locks after a request, and the tenures of searchers. status
// is that of the answer; 0: there was none.
func (g *gate) seeLocks(ctx context.Context, r *http.Request, sent time.Time, status int, answer []byte) error {
	attempt, of := r.Header.Get(opaqueID), ""
	for _, lock := range ownLast(g.locks, attempt) {
		d, err := g.node.document(ctx, lock)
		if err != nil {
			return err
		}
		g.account.see(lock, d, attempt, sent)
		if isOf(attempt, lock) {
			of = lock
		}
	}
	switch {
	case of == "" || status == 0 || status >= 300:
		return nil
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, search):
		return g.files.opened(of, attempt, answer)
	case r.Method == http.MethodDelete && r.URL.Path == scroll:
		g.files.closed(of, attempt)
	}
	return nil
}

// seeData has the account take in what came of a request for the data.
func (g *gate) seeData(ctx context.Context, question history.Event, attempt string, status int, answer []byte) error {
	if question.Op == history.OpRead {
		return g.files.read(question, status, answer)
	}
	now, err := g.node.file(ctx, question.Scope, question.Key)
	if err == nil {
		g.files.changed(question, attempt, status, now)
	}
	return err
}

// ownLast are locks, that of an attempt last: what else the attempt takes, it takes for this one.
func ownLast(locks []string, attempt string) []string {
	place := func(lock string) int {
		if isOf(attempt, lock) {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(locks), func(a, b string) int { return place(a) - place(b) })
}
