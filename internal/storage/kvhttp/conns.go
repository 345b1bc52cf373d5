package kvhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// How long a refused client may take to read the refusal, and how many clients may do
// so at a time. Further clients are cut off without an answer.
const (
	refusalTime = time.Second
	maxRefusals = 128
)

// LimitConnections holds a listener to Limits.Connections and Limits.PerClient. A connection over a limit is
// accepted, answered with status 503 and closed: in the system's queue its client would wait and not know
// why. If secure is true, connections carry TLS, where a refusal would need a handshake first: a connection
// over a limit is only closed. m may be nil.
func LimitConnections(ln net.Listener, l Limits, secure bool, m *Metrics) net.Listener {
	limited := &limitListener{Listener: ln, limits: l.withDefaults(), metrics: m, open: make(map[string]int64)}
	if !secure {
		limited.refusals = make(chan struct{}, maxRefusals)
	}
	return limited
}

type limitListener struct {
	net.Listener
	limits   Limits
	metrics  *Metrics
	refusals chan struct{} // that are under way; nil: none can be

	mu   sync.Mutex
	all  int64
	open map[string]int64 // by network
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := network(c.RemoteAddr().String())
		over := l.take(from)
		if over == nil {
			return newLimitedConn(c, func() { l.giveBack(from) }), nil
		}
		if l.metrics != nil {
			l.metrics.limited.WithLabelValues(over.Limit).Inc()
		}
		l.refuse(c, over)
	}
}

func (l *limitListener) take(from string) *kv.LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.all >= l.limits.Connections:
		return &kv.LimitError{Limit: kv.LimitConnections, Max: l.limits.Connections, Say: "try again later"}
	case l.open[from] >= l.limits.PerClient:
		return &kv.LimitError{Limit: kv.LimitConnections, Max: l.limits.PerClient, Say: "that is for one client: close some"}
	}
	l.count(from, 1)
	return nil
}

func (l *limitListener) giveBack(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(from, -1)
}

func (l *limitListener) count(from string, more int64) {
	l.all += more
	if l.open[from] += more; l.open[from] == 0 {
		delete(l.open, from)
	}
	if l.metrics != nil {
		l.metrics.conns.Set(float64(l.all))
	}
}

// refuse never waits.
func (l *limitListener) refuse(c net.Conn, over error) {
	select {
	case l.refusals <- struct{}{}:
		go func() {
			defer func() { <-l.refusals }()
			tell(c, over)
		}()
	default:
		_ = c.Close() // it is of no use to anybody
	}
}

// tell answers a connection with err and closes it. It waits for the first bytes of the request: many clients
// take an earlier answer for a mistake. After the answer it reads on: if anything is unread when a connection
// is closed, the system throws the answer away.
func tell(c net.Conn, err error) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(refusalTime)) != nil {
		return
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return
	}
	if refusalOf(err).Write(c) != nil {
		return
	}
	if closer, ok := c.(interface{ CloseWrite() error }); ok {
		_ = closer.CloseWrite() // if it fails, so does the rest
	}
	_, _ = io.Copy(io.Discard, c) // until the client has closed its side, or the time is up
}

// refusalOf is the answer that tells of err.
func refusalOf(err error) *http.Response {
	answer := &rendering{header: make(http.Header)}
	newProblem(err).write(answer, err)
	return &http.Response{
		StatusCode: answer.status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: answer.header, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()),
	}
}

// limitedConn is a net.Conn that counts until it is closed. It has deadlines that cost less.
type limitedConn struct {
	net.Conn
	flow     *flow // nil without Attach
	giveBack func()
	read     deadline
	write    deadline
	own      atomic.Bool // no handler is what writes; see Attach
}

func newLimitedConn(c net.Conn, giveBack func()) *limitedConn {
	now := time.Now()
	return &limitedConn{Conn: c, giveBack: sync.OnceFunc(giveBack),
		read: deadline{move: c.SetReadDeadline, born: now}, write: deadline{move: c.SetWriteDeadline, born: now}}
}

func (c *limitedConn) Read(b []byte) (int, error) {
	if len(b) == 1 { // package http looks beside a handler whether the client has left
		return c.await(b)
	}
	if n := c.flow.readNow(b); n > 0 {
		return n, nil
	}
	n, err := c.await(b)
	c.flow.found(n)
	return n, err
}

func (c *limitedConn) await(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if n > 0 || !c.read.early(err) {
			return n, err
		}
	}
}

func (c *limitedConn) Write(b []byte) (int, error) {
	if c.own.Load() {
		if changed, ok := withOutcome(b); ok {
			_, err := c.writeAll(changed)
			return len(b), err
		}
	}
	return c.writeAll(b)
}

func (c *limitedConn) writeAll(b []byte) (int, error) {
	written := c.flow.writeNow(b)
	if written == len(b) && written > 0 {
		return written, nil
	}
	for {
		n, err := c.Conn.Write(b[written:])
		written += n
		if !c.write.early(err) {
			return written, err
		}
	}
}

func (c *limitedConn) SetReadDeadline(t time.Time) error { return c.read.set(t) }

func (c *limitedConn) SetWriteDeadline(t time.Time) error { return c.write.set(t) }

func (c *limitedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.read.set(t), c.write.set(t))
}

func (c *limitedConn) Close() error {
	defer c.giveBack()
	c.flow.wait()
	return c.Conn.Close()
}

// CloseWrite closes one direction, as package http wants to so that a client gets to read the last answer.
func (c *limitedConn) CloseWrite() error {
	if closer, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return closer.CloseWrite()
	}
	return nil
}

// Attach has srv and the connections of LimitConnections, which it needs, know of each other.
//
// Connections take turns then, with the requests of a handler that has the same turns.
//
// The answers that srv gives by itself say that nothing was done, where their status is 500 or higher: to a
// request of another version of HTTP (505), or with another encoding of its body than chunked (501). Package
// http writes such an answer to the connection while no handler serves it, and has no place where a header
// could be added. Below TLS connections see no answers.
func Attach(srv *http.Server, turns *Turns) {
	handler := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connOf(r.Context()); c != nil {
			c.own.Store(false)
		}
		handler.ServeHTTP(w, r)
	})
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = secure.NetConn()
		}
		ours, ok := c.(*limitedConn)
		if !ok {
			return ctx
		}
		ours.flow = newFlow(turns, ours.Conn)
		return context.WithValue(ctx, connKey{}, ours)
	}
	srv.ConnState = func(c net.Conn, now http.ConnState) {
		if c, ok := c.(*limitedConn); ok && (now == http.StateNew || now == http.StateIdle) {
			c.own.Store(true) // until a handler begins
		}
	}
	srv.DisableGeneralOptionsHandler = true // the answer to "OPTIONS *" is a handler's, too
}

// connKey is of a request's connection, in its context.
type connKey struct{}

// connOf is nil without Attach.
func connOf(ctx context.Context) *limitedConn {
	c, _ := ctx.Value(connKey{}).(*limitedConn)
	return c
}

var (
	ownFailure = []byte("HTTP/1.1 5")
	noOutcome  = []byte("\r\n" + HeaderOutcome + ": " + OutcomeNone)
)

// withOutcome is an answer with the header that it lacks, if it has a status from 500.
func withOutcome(answer []byte) (changed []byte, ok bool) {
	line := bytes.Index(answer, []byte("\r\n"))
	if line < 0 || !bytes.HasPrefix(answer, ownFailure) {
		return nil, false
	}
	return bytes.Join([][]byte{answer[:line], noOutcome, answer[line:]}, nil), true
}

// nextLook is after how long at the latest an operation that goes on looks at its deadline again. It is not
// longer than a request's header may take, so that the deadline of the header moves no timer.
const nextLook = 5 * time.Second

// deadline is the deadline of one direction of a connection. Package http sets eight in each request, most of them
// later than the one before, and each would move a timer of the runtime. Here only one that comes sooner
// does. So the timer may ring before the deadline; then the operation that it ended begins again.
type deadline struct {
	move func(time.Time) error // the connection's timer
	born time.Time             // what is before has passed

	mu     sync.Mutex
	wanted time.Time // zero: none
	timer  time.Time // zero: none. Not after wanted.
	ended  bool      // by a deadline that had passed; the timer comes back with the next one
}

// set has operations end at t, also one that is under way. Zero: never.
func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	switch {
	case !t.IsZero() && t.Before(d.born):
		d.ended = true
		return d.move(t)
	case !t.IsZero() && (d.timer.IsZero() || t.Before(d.timer)):
		d.timer = t
	case !d.ended:
		return nil
	}
	d.ended = false
	return d.move(d.timer)
}

// early: the timer ended an operation, with err, before the deadline. The operation can begin again.
func (d *deadline) early(err error) bool {
	if err == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.ended || !errors.Is(err, os.ErrDeadlineExceeded) || !d.wanted.IsZero() && !now.Before(d.wanted) {
		return false
	}
	d.timer = d.wanted
	if look := now.Add(nextLook); look.Before(d.wanted) {
		d.timer = look
	}
	return d.move(d.timer) == nil
}
