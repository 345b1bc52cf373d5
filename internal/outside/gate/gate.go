// Package gate stands before a user's storage. It knows where a request, a statement or a command ends, and
// holds what may change something until it is told to let it pass.
package gate

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// MaxHeld is for how many bytes a gate holds.
const MaxHeld = 16 << 20

// Request is one that may change something. It waits until somebody calls Pass.
type Request struct {
	What   string      // it asks for, for people
	Answer chan string // gets what the storage said, when it has passed
	pass   chan struct{}
	gate   *Gate
}

// Pass lets it pass. It must not be called after the gate's Close.
func (r *Request) Pass() {
	r.gate.running.Add(1)
	close(r.pass)
}

// answered takes in what the storage said to one that has passed.
func (r *Request) answered(said string) {
	r.Answer <- said
	r.gate.running.Done()
}

func (r *Request) String() string { return r.What }

// noAnswer is what the storage said if it has hung up.
const noAnswer = "no answer"

// Gate is where one program finds its storage.
type Gate struct {
	Addr     string
	Requests chan *Request

	closed  chan struct{}
	close   sync.Once
	end     func() // ends what is open
	running sync.WaitGroup
}

func newGate(addr string) *Gate {
	return &Gate{Addr: addr, Requests: make(chan *Request), closed: make(chan struct{})}
}

// lastAnswer is for how long Close waits for the storage.
const lastAnswer = 10 * time.Second

// Close ends the gate, when its program has ended. It returns when the storage has answered all that has passed.
func (g *Gate) Close() error {
	g.close.Do(func() { close(g.closed) })
	done := make(chan struct{})
	go func() {
		g.running.Wait()
		close(done)
	}()
	defer g.end()
	select {
	case <-done:
		return nil
	case <-time.After(lastAnswer):
		return fmt.Errorf("the storage has not answered after %v what the program asked for", lastAnswer)
	}
}

// hold waits until a request may pass; false: the gate was closed before.
func (g *Gate) hold(what string) (*Request, bool) {
	what = strings.Join(strings.Fields(what), " ")
	if len(what) > 200 {
		what = strings.ToValidUTF8(what[:200], "") + "…"
	}
	r := &Request{What: what, Answer: make(chan string, 1), pass: make(chan struct{}), gate: g}
	select {
	case g.Requests <- r:
	case <-g.closed:
		return nil, false
	}
	select {
	case <-r.pass:
		return r, true
	case <-g.closed:
		return nil, false
	}
}

// Protocol is what a storage speaks over TCP. Each call makes a session, for one connection.
type Protocol func() session

// session knows the state of one connection.
type session interface {
	// greet passes on what comes before the first request.
	greet(client, storage *wire) error
	// next reads from the client what belongs together.
	next(client *bufio.Reader) (batch, error)
	// answer reads a part of what the storage answers.
	answer(storage *bufio.Reader) (part, error)
}

// batch is what belongs together.
type batch struct {
	sent   []byte
	writes string // what it may change, for people; "": nothing
	asks   bool   // the storage ends its answer by a part that is last
}

// part is one of an answer.
type part struct {
	bytes []byte
	said  string // for people; "": nothing
	last  bool
}

// wire is one side of a connection.
type wire struct {
	net.Conn
	in *bufio.Reader
}

// OpenTCP opens a gate before a storage at an address.
func OpenTCP(to string, p Protocol) (*Gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := newGate(l.Addr().String())
	var mu sync.Mutex
	var open []net.Conn
	g.end = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	}
	go func() {
		<-g.closed
		l.Close()
	}()
	g.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			storage, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, storage)
			mu.Unlock()
			g.running.Go(func() {
				defer client.Close()
				defer storage.Close()
				g.connect(p(), &wire{client, bufio.NewReader(client)}, &wire{storage, bufio.NewReader(storage)})
			})
		}
	})
	return g, nil
}

// connect connects a client with the storage, until the storage hangs up. What has passed is done, also without the client.
func (g *Gate) connect(s session, client, storage *wire) {
	if s.greet(client, storage) != nil {
		return
	}
	c := &connection{session: s, client: client, storage: storage}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.send(g)
		_ = storage.Conn.(*net.TCPConn).CloseWrite()
	}()
	c.receive()
	client.Close()
	storage.Close()
	<-sent
	for _, r := range append(c.asked, c.held) {
		if r != nil {
			r.answered(noAnswer)
		}
	}
}

type connection struct {
	session
	client, storage *wire

	held  *Request // that has passed, and whose batch asks for nothing yet
	mu    sync.Mutex
	asked []*Request // that the storage has not answered; nil: one that was not held
}

// send passes on what the client sends.
func (c *connection) send(g *Gate) {
	for {
		b, err := c.next(c.client.in)
		if err != nil {
			return
		}
		if b.writes != "" {
			r, passed := g.hold(b.writes)
			if !passed {
				return
			}
			if c.held != nil { // its answer is a part of the next one
				c.held.answered("it goes on")
			}
			c.held = r
		}
		if b.asks {
			c.mu.Lock()
			c.asked, c.held = append(c.asked, c.held), nil
			c.mu.Unlock()
		}
		if _, err := c.storage.Write(b.sent); err != nil {
			return
		}
	}
}

// receive passes on what the storage answers.
func (c *connection) receive() {
	var said []string
	for {
		p, err := c.answer(c.storage.in)
		if err != nil {
			return
		}
		_, _ = c.client.Write(p.bytes) // a client that has gone does not wait
		if p.said != "" {
			said = append(said, p.said)
		}
		if p.last {
			c.last(strings.Join(said, "; "))
			said = nil
		}
	}
}

// last takes in that the storage has answered the first of what it was asked for.
func (c *connection) last(said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 0 {
		return
	}
	if r := c.asked[0]; r != nil {
		r.answered(said)
	}
	c.asked = c.asked[1:]
}

var errTooLong = errors.New("a gate holds no more than 16 MiB")
