package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/webpage"
)

// Gate is the address at which clients find a storage that is not ours, wherever that is. The
// account of such a storage is the gate's: the gate lets through one request after the other,
// and tells what the storage answered.
//
// A request goes through when all of it is there, and the next one when that is answered. But
// its headers go on as soon as they come: what a storage does before it has the body it shall
// do here, too. A storage cannot write what it does not have. So the order in which the gate
// tells of changes is that in which they were made.
type Gate struct {
	// Tell is told what became of each request, in their order, in the lane of the storage.
	Tell   func(history.Event)
	Fail   func(error) // told of an answer that means nothing in the protocol of docs/your-storage.md
	Prefix string      // that of all keys and scopes in the storage; the account is without it
	// Whole says that the storage serves one connection at a time. Requests go on only when all of
	// them is there: one that waits for its body would keep others out.
	Whole bool
	// Contrib says that the storage speaks contrib/lock's POST /. Requests go on when all of them is there,
	// too: the body has the version, which is the token of a write; a read has none. Keys are their scopes.
	Contrib bool
	Within  time.Duration // how long the storage may take to answer a whole request; at first 10 s

	name      string // of the storage, in errors
	listener  net.Listener
	server    *http.Server
	transport *http.Transport
	ctx       context.Context
	close     context.CancelFunc
	turn      chan struct{} // has something while a request goes through
	over      context.Context
	finish    context.CancelFunc // of over: the story is told
	running   sync.WaitGroup

	mu    sync.Mutex
	now   life
	index int64 // of the latest request since the storage was started
}

// life is a time for which the storage is at one place, without a break.
type life struct {
	context.Context
	to  string // URL; "": nobody serves
	end context.CancelFunc
}

// NewGate makes a gate on a free port of loopback, before nobody yet. name is the storage's, in errors.
func NewGate(name string) (*Gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a gate before %s: %w", name, err)
	}
	g := &Gate{name: name, listener: listener, transport: NewTransport(), turn: make(chan struct{}, 1), Within: 10 * time.Second}
	g.ctx, g.close = context.WithCancel(context.Background())
	g.over, g.finish = context.WithCancel(g.ctx)
	g.Serve("")
	g.server = &http.Server{Handler: webpage.Guard(g), ErrorLog: log.New(io.Discard, "", 0)}
	return g, nil
}

// Open begins to take requests. Tell and Fail are set before, and what else is to be.
func (g *Gate) Open() {
	g.running.Go(func() { _ = g.server.Serve(g.listener) }) // it ends with Close
}

func (g *Gate) Addr() string { return g.listener.Addr().String() }

// Serve says where the storage is now, begun anew. Requests that have not gone through go there, whole.
func (g *Gate) Serve(url string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now.end != nil {
		g.now.end()
	}
	g.now.to, g.index = strings.TrimSuffix(url, "/"), 0
	g.now.Context, g.now.end = context.WithCancel(g.ctx)
}

func (g *Gate) Leave() { g.Serve("") }

func (g *Gate) life() life {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// Settle returns when all is told of what has gone through. Clients that hang up lose their turn from now on.
func (g *Gate) Settle(ctx context.Context) error {
	g.finish()
	select {
	case g.turn <- struct{}{}:
		<-g.turn
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
}

func (g *Gate) Close() {
	g.close()
	_ = g.server.Close()
	_ = g.listener.Close() // of a gate that was not opened
	g.running.Wait()
}

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/healthz" {
		return // a client looks whether somebody is there, and the gate is
	}
	q, err := g.parse(r)
	if err != nil {
		refuse(w, err)
		return
	}
	p := &passage{Gate: g, request: q, client: r.Context()}
	p.body = sync.OnceValues(func() (string, error) { return q.read(http.MaxBytesReader(w, r.Body, MaxAnswer)) })
	p.ctx, p.cancel = context.WithCancelCause(g.ctx)
	defer p.end()
	a, err := p.pass()
	unanswered, open := errors.AsType[*unansweredError](err)
	switch {
	case err == nil:
		done, wrong := q.meaning(a)
		if wrong != nil {
			g.Fail(fmt.Errorf("%s %w", g.name, wrong))
			http.Error(w, wrong.Error(), http.StatusBadGateway)
			return
		}
		g.tell(q, done)
		q.answer(w, done)
	case open:
		done := q.asked
		done.Kind, done.Text = history.KindUnanswered, fmt.Sprintf("%s %s (asked: %s)", g.name, unanswered.did, q)
		g.tell(q, done)
		q.answer(w, done)
	case errors.Is(err, errNobody):
		w.Header().Set(headerOutcome, outcomeNone)
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default: // its client has hung up before all of it was there
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// tell tells what became of a request, which has the turn.
func (g *Gate) tell(q *request, done history.Event) {
	for _, e := range q.events(done) {
		g.mu.Lock()
		g.index++
		e.Index = g.index
		g.mu.Unlock()
		g.Tell(e)
	}
}

// What tells a client that a request was not done for a reason that is none of fencing.
const (
	headerOutcome = "Fencing-Outcome"
	outcomeNone   = "none"
)

// errNobody says that a request was not done, as there is nobody to do it.
var errNobody = errors.New("the storage takes no connections")

// unansweredError says that all of a request was passed on, and there is no whole answer.
type unansweredError struct{ did string }

func (e *unansweredError) Error() string { return e.did }

type passage struct {
	*Gate
	request *request
	body    func() (string, error) // waits until all of it is there
	client  context.Context        // ends when the client hangs up, or closes its sending side
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu  sync.Mutex
	has bool // it has the turn
}

// take waits for the turn. From then on the storage has its time to answer, whoever waits for that.
func (p *passage) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.has:
		return nil
	case p.ctx.Err() != nil: // it has ended
		return context.Cause(p.ctx)
	}
	if err := p.await(); err != nil {
		return err
	}
	p.has = true
	timer := time.AfterFunc(p.Within, func() { p.cancel(context.DeadlineExceeded) })
	context.AfterFunc(p.ctx, func() { timer.Stop() })
	return nil
}

// await waits for the turn. A client that closed its sending side may still read: its request is passed on.
func (p *passage) await() error {
	var left <-chan struct{}
	for over := p.over.Done(); ; {
		select {
		case p.turn <- struct{}{}:
			return nil
		case <-over:
			over, left = nil, p.client.Done()
		case <-left:
			return context.Cause(p.client)
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
}

func (p *passage) hasTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has
}

// end gives the turn back, and breaks off what is left of the request.
func (p *passage) end() {
	p.cancel(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has {
		<-p.turn
	}
}

// pass passes the request on. An error that is no *unansweredError says that it was not done.
func (p *passage) pass() (Answer, error) {
	if p.request.length > 0 && !p.Whole {
		now := p.life()
		a, err := p.ask(now, &lateBody{passage: p, life: now})
		if _, missing := p.body(); missing != nil {
			return a, missing
		}
		if err == nil { // perhaps before the body was there
			return a, p.take()
		}
		if p.hasTurn() {
			return a, err
		}
		// Nobody was there yet, or the storage has hung up on half of a request.
	}
	body, err := p.body()
	if err != nil {
		return Answer{}, err
	}
	if err := p.take(); err != nil {
		return Answer{}, err
	}
	return p.ask(p.life(), strings.NewReader(body))
}

func (p *passage) ask(now life, body io.Reader) (Answer, error) {
	if now.to == "" {
		return Answer{}, errNobody
	}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, p.request.method, now.to+p.request.path, body)
	if err != nil {
		return Answer{}, err
	}
	if _, late := body.(*lateBody); late {
		out.ContentLength = p.request.length
		defer context.AfterFunc(now, func() {
			if !p.hasTurn() {
				cancel()
			}
		})()
	}
	out.Header = p.request.header
	resp, err := p.transport.RoundTrip(out)
	if err == nil {
		defer resp.Body.Close()
		var a Answer
		if a, err = Read(resp); err == nil {
			return a, nil
		}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		p.alone(now, err)
		return Answer{}, errNobody
	}
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	return Answer{}, &unansweredError{Did(err, p.Within)}
}

// alone tells that nobody takes connections where somebody should.
func (g *Gate) alone(now life, err error) {
	if now.Err() == nil {
		g.Fail(fmt.Errorf("%s takes no connections: %w", g.name, err))
	}
}

// lateBody is the body of a request whose headers have gone on. It comes with the turn.
type lateBody struct {
	*passage
	life life
	rest *strings.Reader
}

func (b *lateBody) Read(into []byte) (int, error) {
	if b.rest == nil {
		body, err := b.body()
		if err == nil {
			err = b.life.Err()
		}
		if err == nil {
			err = b.take()
		}
		if err != nil {
			return 0, err
		}
		b.rest = strings.NewReader(body)
	}
	return b.rest.Read(into)
}
