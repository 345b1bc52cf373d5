package kvhttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

// oneTurn is a server whose connections and requests share one turn.
type oneTurn struct {
	*testing.T
	turns *Turns
	dial  func() net.Conn
}

func startOneTurn(t *testing.T, secure bool, e kv.Engine, o Options) *oneTurn {
	t.Helper()
	o.Turns = NewTurns()
	o.Turns.free = 1
	srv := httptest.NewUnstartedServer(NewHandler(e, o))
	srv.Listener = LimitConnections(srv.Listener, Limits{}, secure, nil)
	Attach(srv.Config, o.Turns)
	addr, dial := srv.Listener.Addr().String(), net.Dial
	if secure {
		srv.StartTLS()
		dial = func(network, addr string) (net.Conn, error) {
			return tls.Dial(network, addr, &tls.Config{InsecureSkipVerify: true})
		}
	} else {
		srv.Start()
	}
	t.Cleanup(srv.CloseClientConnections)
	return &oneTurn{t, o.Turns, func() net.Conn {
		c, err := dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		return c
	}}
}

// await waits until so many wait for the turn.
func (s *oneTurn) await(waiting int) {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.turns.mu.Lock()
		n := len(s.turns.queue)
		s.turns.mu.Unlock()
		if n == waiting {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%d wait for the turn, want %d", n, waiting)
		}
	}
}

// awaitRest waits until nobody has the turn, or waits for it.
func (s *oneTurn) awaitRest() {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.turns.mu.Lock()
		free, clients := s.turns.free, len(s.turns.client)
		s.turns.mu.Unlock()
		if free == 1 && clients == 0 {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%d turns are free, want 1; %d clients are counted, want none", free, clients)
		}
	}
}

// send sends without waiting: a server may leave unread what it has no turn for.
func (s *oneTurn) send(c net.Conn, text string) {
	go func() { _, _ = io.WriteString(c, text) }()
}

// answers reads n of them, which say that all went well.
func (s *oneTurn) answers(r *bufio.Reader, n int) {
	s.Helper()
	for i := range n {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			s.Fatalf("answer %d of %d: %v", i+1, n, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode >= 300 {
			s.Fatalf("answer %d of %d: %s", i+1, n, answer.Status)
		}
	}
}

func (s *oneTurn) ask(text string) {
	s.Helper()
	c := s.dial()
	s.send(c, text)
	s.answers(bufio.NewReader(c), 1)
}

// putText is a request as it is sent. fields is a part of its header.
func putText(key, value, fields string) string {
	return fmt.Sprintf("PUT /v1/kv/%s HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\n%sContent-Length: %d\r\n\r\n%s", key, fields, len(value), value)
}

var (
	largeValue = strings.Repeat("x", 1<<20)
	manyFields = strings.Repeat("a: 1\r\n", 2900)
	largePut   = putText("large", largeValue, "")
)

func plainAndTLS(t *testing.T, test func(t *testing.T, secure bool)) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) { test(t, secure) })
	}
}

// TestGreedyConnectionsTakeTurns: while another one has the turn, a connection that brings much
// waits for it, and one with a small request is served.
func TestGreedyConnectionsTakeTurns(t *testing.T) {
	for _, tt := range []struct {
		name        string
		text        string
		answers     int
		engineWaits bool
	}{
		{"a large body", largePut, 1, false},
		{"a large header", putText("a", "1", manyFields), 1, false},
		{"a large header, for an engine that waits", putText("a", "1", manyFields), 1, true},
		{"requests before the answers to others, many", strings.Repeat(putText("a", "1", ""), 64), 64, false},
		{"requests before the answers to others, a few", strings.Repeat(putText("a", "1", ""), 4), 4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plainAndTLS(t, func(t *testing.T, secure bool) {
				s := startOneTurn(t, secure, kv.NewMemory(kv.Options{}), Options{EngineWaits: tt.engineWaits})
				greedy := s.dial()
				honest := s.dial()
				of, ofHonest := bufio.NewReader(greedy), bufio.NewReader(honest)
				for range 2 {
					other := s.turns.ask(client{name: "other"}, 1)
					s.send(greedy, tt.text)
					s.await(1)
					for range 3 {
						s.send(honest, putText("b", "1", ""))
						s.answers(ofHonest, 1)
					}
					s.await(1)
					s.turns.give(other)
					s.answers(of, tt.answers)
					s.awaitRest()
				}
			})
		})
	}
}

// TestNoTurnIsHeldWhileClientIsWaitedFor: a client that begins what needs turns, and does not go on,
// keeps nobody waiting.
func TestNoTurnIsHeldWhileClientIsWaitedFor(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		ends bool
	}{
		{"a body that does not come", largePut[:len(largePut)/2], false},
		{"a body whose client ends", largePut[:len(largePut)/2], true},
		{"a header that does not end", "PUT /v1/kv/a HTTP/1.1\r\n" + manyFields, false},
		{"answers that are not read", largePut + strings.Repeat("GET /v1/kv/large HTTP/1.1\r\nHost: localhost\r\n\r\n", 64), false},
		{"a client that sends no more", largePut, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plainAndTLS(t, func(t *testing.T, secure bool) {
				s := startOneTurn(t, secure, kv.NewMemory(kv.Options{}), Options{})
				other := s.turns.ask(client{name: "other"}, 1)
				stalled := s.dial()
				s.send(stalled, tt.text)
				s.await(1)
				s.turns.give(other)
				if tt.ends {
					stalled.Close()
				}
				for range 20 {
					s.ask(largePut)
				}
				s.awaitRest()
			})
		})
	}
}

// stuck is an engine that waits with one key.
type stuck struct {
	kv.Engine
	asked, on chan struct{}
}

func (e *stuck) Write(ctx context.Context, req kv.Request, ops ...kv.Op) error {
	if ops[0].Key == "stuck" {
		e.asked <- struct{}{}
		<-e.on
	}
	return e.Engine.Write(ctx, req, ops...)
}

// TestNoTurnIsHeldWhileEngineWaits: nor while more is read of the same connection.
func TestNoTurnIsHeldWhileEngineWaits(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, secure bool) {
		e := &stuck{kv.NewMemory(kv.Options{}), make(chan struct{}), make(chan struct{})}
		s := startOneTurn(t, secure, e, Options{EngineWaits: true})
		c := s.dial()
		s.send(c, putText("stuck", largeValue, ""))
		<-e.asked
		s.send(c, largePut)
		for range 20 {
			s.ask(largePut)
		}
		s.awaitRest()
		close(e.on)
		s.answers(bufio.NewReader(c), 2)
		s.awaitRest()
	})
}

// TestTurnThatComesLate: what comes to a connection that has one already, or takes none any more,
// is given back.
func TestTurnThatComesLate(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(*flow)
		after     func(*flow)
	}{
		{"it waits", (*flow).wait, func(*flow) {}},
		{"it has a turn", func(f *flow) { f.turn.Store(f.turns.ask(f.who, 1)) }, (*flow).rest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &oneTurn{T: t, turns: NewTurns()}
			s.turns.free = 1
			f := &flow{turns: s.turns}
			other := s.turns.ask(client{name: "other"}, 1)
			begun := make(chan struct{})
			go func() { f.begin(1); close(begun) }()
			s.await(1)
			s.turns.mu.Lock()
			s.turns.free++ // for the turn that it gets meanwhile
			s.turns.mu.Unlock()
			tt.meanwhile(f)
			s.turns.give(other)
			<-begun
			tt.after(f)
			s.turns.mu.Lock()
			defer s.turns.mu.Unlock()
			if len(s.turns.client) != 0 {
				t.Errorf("turns are left: %v", s.turns.client)
			}
		})
	}
}

// TestClosedConnectionHasNoTurn: also where nothing was read or written after a turn began.
func TestClosedConnectionHasNoTurn(t *testing.T) {
	s := &oneTurn{T: t, turns: NewTurns()}
	s.turns.free = 1
	server, client := net.Pipe()
	defer client.Close()
	c := newLimitedConn(server, func() {})
	c.flow = newFlow(s.turns, server)
	c.flow.begin(1)
	c.Close()
	s.awaitRest()
	c.flow.begin(1)
	s.awaitRest()
}

// TestNoTurnIsHeldWhileReadinessIsAsked: what a route waits for is no work.
func TestNoTurnIsHeldWhileReadinessIsAsked(t *testing.T) {
	asked, on := make(chan struct{}), make(chan struct{})
	s := startOneTurn(t, false, kv.NewMemory(kv.Options{}), Options{Ready: []Check{{"slow", func(context.Context) error {
		close(asked)
		<-on
		return nil
	}}}})
	c := s.dial()
	s.send(c, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"+manyFields+"\r\n")
	<-asked
	s.ask(largePut)
	s.awaitRest()
	close(on)
	s.answers(bufio.NewReader(c), 1)
}
