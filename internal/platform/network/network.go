// Package network is the network between a client and a service, as faults make it:
// it can hold back what is sent or answered, and be cut.
package network

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Link leads to one address of a service, from one of its own on loopback. It
// connects to the service with the first that goes through: what has waited since
// its connection began comes to whoever serves at the time when it goes on.
type Link struct {
	Tx Way // what clients send
	Rx Way // what they are answered

	listener *Listener // nil: it is given its connections by Take
	to       string
	greets   bool // the service speaks first
	heads    bool // the headers of a request never wait for its body
	silent   bool // the service is not told that a client has hung up
	running  sync.WaitGroup
	holds    chan struct{}

	mu    sync.Mutex
	conns []*conn // in the order in which they began
}

// New makes a link to an address, host:port. That a client hangs up goes through it like what the client sent.
func New(to string) (*Link, error) { return NewTaking(to).listen() }

// NewGreeted makes a link to a service that speaks before its clients do, as MariaDB does.
// It connects to the service as soon as a client connects to it.
func NewGreeted(to string) (*Link, error) {
	l := NewTaking(to)
	l.greets = true
	return l.listen()
}

// NewSilent makes a link to a service that is not told that a client has hung up: it could break off what came late.
func NewSilent(to string) (*Link, error) {
	l := NewTaking(to)
	l.silent = true
	return l.listen()
}

// NewAfterHead makes a silent link to a service that speaks HTTP. While Tx is shut the headers of a
// request with a body go on, and what comes after them waits.
func NewAfterHead(to string) (*Link, error) {
	l := NewTaking(to)
	l.silent, l.heads = true, true
	return l.listen()
}

func (l *Link) listen() (*Link, error) {
	var err error
	if l.listener, err = Listen(l.Take); err != nil {
		return nil, fmt.Errorf("network to %s: %w", l.to, err)
	}
	return l, nil
}

// NewTaking makes a link to an address, host:port, that has no address of its own.
func NewTaking(to string) *Link { return &Link{to: to, holds: make(chan struct{}, 1)} }

// Addr is where clients find the service through the link, host:port.
func (l *Link) Addr() string { return l.listener.Addr() }

// Take has a client's connection, of TCP, lead to the service. It must not be called after Close.
func (l *Link) Take(client net.Conn) {
	c := &conn{link: l, client: client, broken: make(chan struct{}), free: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c)
	l.running.Go(c.run)
}

// Held is how many connections have something that waits because Tx is shut.
func (l *Link) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.conns {
		if c.waits {
			n++
		}
	}
	return n
}

// Holds gets a value when Held has grown.
func (l *Link) Holds() <-chan struct{} { return l.holds }

// Pass lets the oldest of the connections go on that wait because Tx is shut, with
// all that comes by it. Where none waits it does nothing.
func (l *Link) Pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		if c.waits {
			c.waits, c.freed = false, true
			close(c.free)
			return
		}
	}
}

// hold notes that a connection waits, unless it need not.
func (l *Link) hold(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.freed {
		return false
	}
	c.waits = true
	select {
	case l.holds <- struct{}{}:
	default: // one who looks sees this as well
	}
	return true
}

func (l *Link) letGo(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.waits = false
}

// Cut breaks all connections; what is under way is lost. New ones can be made.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.cut()
	}
	l.conns = nil
}

// Close breaks all connections, and takes no new ones.
func (l *Link) Close() {
	if l.listener != nil {
		l.listener.Close()
	}
	l.Cut()
	l.running.Wait()
}

func (l *Link) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = slices.DeleteFunc(l.conns, func(o *conn) bool { return o == c })
}

// Way is one direction of a link. It is open at first.
type Way struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the way opens; nil while it is open
}

// Shut has all that comes from now on wait.
func (w *Way) Shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut == nil {
		w.shut = make(chan struct{})
	}
}

// Open lets go on what waits, and what comes.
func (w *Way) Open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut != nil {
		close(w.shut)
		w.shut = nil
	}
}

// opens is closed when the way opens; nil while it is open.
func (w *Way) opens() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shut
}

// Listener is an address on loopback. Each connection to it is given to a function.
type Listener struct {
	net     net.Listener
	running sync.WaitGroup
}

// Listen takes a free port. The function is called with one connection after the other.
func Listen(take func(net.Conn)) (*Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Listener{net: ln}
	l.running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			take(c)
		}
	})
	return l, nil
}

// Addr is where the connections come to, host:port.
func (l *Listener) Addr() string { return l.net.Addr().String() }

// Close takes no more connections, and returns when the last one was given to the function.
func (l *Listener) Close() {
	l.net.Close()
	l.running.Wait()
}

// conn is a client's connection, and the one to the service that goes with it.
type conn struct {
	link    *Link
	client  net.Conn
	service net.Conn      // nil until something goes through
	free    chan struct{} // closed when it may go on though Tx is shut
	broken  chan struct{} // closed by a cut
	answers sync.WaitGroup

	waits, freed, ended bool // guarded by link.mu
}

// chunk is how much is passed on at once, in bytes.
const chunk = 32 << 10

// run passes on what the client sends, and has what it is answered passed on.
func (c *conn) run() {
	defer c.link.forget(c)
	defer c.client.Close()
	if c.link.greets && !c.begin() {
		return
	}
	buf := make([]byte, chunk)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			c.hangUp()
			break
		}
		head := 0
		if c.link.heads && c.link.Tx.opens() != nil {
			head = headOf(buf[:n])
		}
		if head > 0 && !c.send(buf[:head]) || !c.passTx() || !c.send(buf[head:n]) {
			break
		}
	}
	c.answers.Wait()
}

// hangUp tells the service that the client has hung up.
func (c *conn) hangUp() {
	if c.service != nil && !c.link.silent && c.passTx() {
		_ = c.service.(*net.TCPConn).CloseWrite() // it may have hung up itself
	}
}

// headOf is how many bytes of what a client sends are the headers of a request with a body;
// 0: it is something else.
func headOf(b []byte) int {
	const end = "\r\n\r\n"
	if i := bytes.Index(b, []byte(end)); i >= 0 && i+len(end) < len(b) {
		return i + len(end)
	}
	return 0
}

// send passes something on, and reports whether somebody is there to take it.
func (c *conn) send(b []byte) bool {
	if c.service == nil && !c.begin() {
		return false
	}
	_, err := c.service.Write(b)
	return err == nil
}

// begin connects to the service. Where nobody serves the client's connection breaks.
func (c *conn) begin() bool {
	service, err := net.Dial("tcp", c.link.to)
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	switch {
	case err != nil:
		abort(c.client)
		return false
	case c.ended:
		abort(service)
		return false
	}
	c.service = service
	c.answers.Go(c.answer)
	return true
}

// answer passes on what the service answers, until it hangs up.
func (c *conn) answer() {
	defer c.service.Close()
	buf := make([]byte, chunk)
	for {
		n, err := c.service.Read(buf)
		if !c.passRx() {
			return
		}
		if err != nil {
			c.client.Close()
			return
		}
		_, _ = c.client.Write(buf[:n]) // one that has hung up gets no answer
	}
}

// passTx waits until what the client sent may go on. It reports whether it may.
func (c *conn) passTx() bool {
	opens := c.link.Tx.opens()
	if opens == nil || !c.link.hold(c) {
		return true
	}
	defer c.link.letGo(c)
	return c.await(opens, c.free)
}

func (c *conn) passRx() bool {
	opens := c.link.Rx.opens()
	return opens == nil || c.await(opens, nil)
}

func (c *conn) await(opens, free <-chan struct{}) bool {
	select {
	case <-opens:
		return true
	case <-free:
		return true
	case <-c.broken:
		return false
	}
}

// cut breaks the connection; the caller holds link.mu.
func (c *conn) cut() {
	c.ended = true
	close(c.broken)
	abort(c.client)
	if c.service != nil {
		abort(c.service)
	}
}

// abort closes a connection in a way that the other end takes for a failure.
func abort(c net.Conn) {
	_ = c.(interface{ SetLinger(sec int) error }).SetLinger(0)
	c.Close()
}
