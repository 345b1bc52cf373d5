package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"
)

// load is connections that send the same kind of request to one server. The
// requests are written by hand, for all servers alike, so that the client costs
// little beside them and nobody's client library is measured.
type load struct {
	conns    []*conn
	exchange exchange
}

// exchange is a request and what has to come back.
type exchange struct {
	ops     int                            // done by one
	request func(buf []byte, n int) []byte // appends the n-th request
	answer  func(r *bufio.Reader) error    // reads all of the answer; an error where it is not a success
}

type conn struct {
	net.Conn
	r   *bufio.Reader
	buf []byte
	n   int // of the next request
}

func dial(addr string, conns int, x exchange) (*load, error) {
	l := &load{exchange: x}
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			l.close()
			return nil, err
		}
		l.conns = append(l.conns, &conn{Conn: c, r: bufio.NewReaderSize(c, 16<<10), n: i})
	}
	return l, nil
}

func (l *load) close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// turn has each connection send request after request. It has the form of
// contender.turn.
func (l *load) turn(d time.Duration) (int, time.Duration, error) {
	requests, took, err := takeTurn(len(l.conns), d, func(_ context.Context, i int) error { return l.send(i) })
	return requests * l.exchange.ops, took, err
}

// once sends the first n requests, and says how long that took.
func (l *load) once(n int) (time.Duration, error) {
	_, took, err := repeat(len(l.conns), func(i int) bool { return l.conns[i].n < n }, l.send)
	return took, err
}

func (l *load) send(i int) error { return l.conns[i].do(l.exchange, len(l.conns)) }

// do sends the connection's next request and reads the answer.
func (c *conn) do(x exchange, step int) error {
	c.buf = x.request(c.buf[:0], c.n)
	c.n += step
	if err := c.SetDeadline(time.Now().Add(turnSlack)); err != nil {
		return err
	}
	if _, err := c.Write(c.buf); err != nil {
		return err
	}
	return x.answer(c.r)
}

// The key of the n-th request: neighbours are far apart, as they are where many
// clients write. 7919 is a prime.
func appendKey(buf []byte, n, keys int) []byte {
	return appendName(buf, n*7919%keys)
}

// appendName has 16 bytes.
func appendName(buf []byte, i int) []byte { return fmt.Appendf(buf, "key-%012d", i) }

// fewKeys fit into any cache.
const fewKeys = 1000

// value is what every write writes.
const value = "0123456789abcdef"

// put is a fenced write over HTTP, pipelined by depth.
func put(keys, depth int) exchange { return putValue(keys, depth, value) }

func putValue(keys, depth int, value string) exchange {
	end := fmt.Sprintf(" HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nContent-Length: %d\r\n\r\n%s", len(value), value)
	return exchange{
		ops: depth,
		request: func(buf []byte, n int) []byte {
			for i := range depth {
				buf = appendKey(append(buf, "PUT /v1/kv/"...), n*depth+i, keys)
				buf = append(buf, end...)
			}
			return buf
		},
		answer: several(depth, noContent),
	}
}

// several reads n answers.
func several(n int, answer func(*bufio.Reader) error) func(*bufio.Reader) error {
	return func(r *bufio.Reader) error {
		for range n {
			if err := answer(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// noContent reads an answer that must be 204.
func noContent(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if string(line) != "HTTP/1.1 204 No Content\r\n" {
		rest := make([]byte, r.Buffered())
		r.Read(rest)
		return fmt.Errorf("the answer is not 204: %s%s", line, rest)
	}
	for {
		if line, err = r.ReadSlice('\n'); err != nil || len(line) == len("\r\n") {
			return err
		}
	}
}

// rival is a server and what is sent to it.
type rival struct {
	name     string
	server   *server
	exchange exchange
}

// raceLoads compares servers, each with so many connections.
func (b *bench) raceLoads(conns int, rivals ...rival) ([]result, error) {
	var cs []contender
	for _, r := range rivals {
		l, err := dial(r.server.addr, conns, r.exchange)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		defer l.close()
		cs = append(cs, contender{r.name, l.turn, r.server})
	}
	return b.race(cs...)
}
