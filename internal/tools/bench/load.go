package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// load is connections that send the same kind of request to one server. The requests are written by hand, for
// all servers alike, so that the client costs little beside them and nobody's client library is measured.
type load struct {
	conns []*conn
	ops   int // done by one request
}

// exchange is a request and what has to come back.
type exchange struct {
	ops    int                         // done by one
	text   string                      // of a request. Each slot in it is the place of the next key
	keys   int                         // that there are
	answer func(r *bufio.Reader) error // reads all of the answer; an error where it is not a success
}

type conn struct {
	net.Conn
	exchange
	r       *bufio.Reader
	request []byte // the last one that was sent, or text
	slots   []int  // where keys are
	n, step int    // of the next request; from one to the next
}

// dial makes connections, which take the exchanges in turns.
func dial(addr string, conns int, exchanges ...exchange) *load {
	l := &load{ops: exchanges[0].ops}
	for i := range conns {
		c := fail.Must(net.Dial("tcp", addr))
		x := exchanges[i%len(exchanges)]
		made := &conn{Conn: c, exchange: x, r: bufio.NewReaderSize(c, 16<<10), request: []byte(x.text), n: i, step: conns}
		for _, place := range slots.FindAllStringIndex(x.text, -1) {
			made.slots = append(made.slots, place[0])
		}
		l.conns = append(l.conns, made)
	}
	return l
}

func (l *load) close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// turn has each connection send request after request.
func (l *load) turn(d time.Duration) (int, time.Duration) {
	return working(len(l.conns), l.ops, func(_ context.Context, i int) { l.send(i) })(d)
}

// send sends the first n requests to a server, by so many connections.
func send(s *server, conns int, x exchange, n int) {
	l := dial(s.addr, conns, x)
	defer l.close()
	repeat(conns, func(i int) bool { return l.conns[i].n < n }, l.send)
}

// send sends the connection's next request and reads the answer.
func (l *load) send(i int) {
	c := l.conns[i]
	for i, at := range c.slots {
		key := keyNumber(c.n*len(c.slots)+i, c.keys)
		for digit := at + len(slot) - 1; c.request[digit] != '-'; digit-- {
			c.request[digit] = byte('0' + key%10)
			key /= 10
		}
	}
	c.n += c.step
	fail.If(c.SetDeadline(time.Now().Add(turnSlack)))
	fail.Must(c.Write(c.request))
	fail.If(c.answer(c.r))
}

// slot is where a request has a key.
const slot = "key-############"

var slots = regexp.MustCompile(slot)

// name has 16 bytes.
func name(i int) string { return fmt.Sprintf("key-%012d", i) }

// key is the key of the n-th write. keyNumber is its number: neighbours are far apart, as they are
// where many clients write. 7919 is a prime.
func key(n, keys int) string { return name(keyNumber(n, keys)) }

func keyNumber(n, keys int) int { return n * 7919 % keys }

// fewKeys fit into any cache.
const fewKeys = 1000

const value = "0123456789abcdef"

// put is a fenced write over HTTP, pipelined by depth.
func put(keys, depth int) exchange { return putValue(keys, depth, value) }

func putValue(keys, depth int, value string) exchange {
	one := request("PUT", "/v1/kv/"+slot, "Fencing-Token: 34\r\n", value)
	return exchange{depth, strings.Repeat(one, depth), keys, several(depth, noContent)}
}

var largest = strings.Repeat(value, kvhttp.DefaultMaxBody/len(value))

// batch is a POST /v1/batch of so many writes under one lock.
func batch(ops, keys int, scope string) exchange {
	writes := strings.Repeat(`,{"op":"write","key":"`+slot+`","val":"`+value+`"}`, ops)
	head := "Fencing-Token: 34\r\nFencing-Scope: " + scope + "\r\n"
	return exchange{ops, request("POST", "/v1/batch", head, `{"ops":[`+writes[1:]+"]}"), keys, noContent}
}

// get reads all of an answer that may be long.
func get(path string) exchange {
	return exchange{ops: 1, text: "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n", answer: func(r *bufio.Reader) error {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New("GET " + path + ": " + answer.Status)
		}
		return err
	}}
}

// request is one by HTTP. The header's lines have their ends.
func request(method, path, header, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", method, path, header, len(body), body)
}

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

func noContent(r *bufio.Reader) error { return readHead(r, "204 No Content") }

// readHead reads an answer without its body. It must have a status.
func readHead(r *bufio.Reader, status string) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if string(line) != "HTTP/1.1 "+status+"\r\n" {
		rest := make([]byte, r.Buffered())
		r.Read(rest)
		return fmt.Errorf("the answer is not %s: %s%s", status, line, rest)
	}
	for {
		if line, err = r.ReadSlice('\n'); err != nil || len(line) == len("\r\n") {
			return err
		}
	}
}

type rival struct {
	name     string
	server   *server
	exchange exchange
}

// raceLoads compares servers, each with so many connections.
func (b *bench) raceLoads(conns int, rivals ...rival) []result {
	var cs []contender
	for _, r := range rivals {
		l := dial(r.server.addr, conns, r.exchange)
		defer l.close()
		cs = append(cs, contender{r.name, l.turn, r.server})
	}
	return b.race(cs...)
}
