package network

import (
	"bytes"
	"net"
)

// conn is a client's connection, and the one to the service that goes with it.
type conn struct {
	link    *Link
	client  net.Conn
	service net.Conn      // nil until something goes through
	free    chan struct{} // closed when it may go on though Tx is shut
	broken  chan struct{} // closed by a cut

	waits, freed, ended bool // guarded by link.mu
}

// chunk is how much is passed on at once, in bytes.
const chunk = 32 << 10

// run passes on what the client sends, and has what it is answered passed on. The
// service is not told that the client has hung up: it could break off what came late.
func (c *conn) run() {
	defer c.link.forget(c)
	defer c.client.Close()
	answered := make(chan struct{})
	if c.link.greets && !c.begin(answered) {
		return
	}
	buf := make([]byte, chunk)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			break
		}
		head := 0
		if c.link.heads && c.link.Tx.opens() != nil {
			head = headOf(buf[:n])
		}
		if head > 0 && !c.send(buf[:head], answered) || !c.passTx() || !c.send(buf[head:n], answered) {
			break
		}
	}
	if c.service != nil {
		<-answered
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
func (c *conn) send(b []byte, answered chan struct{}) bool {
	if c.service == nil && !c.begin(answered) {
		return false
	}
	_, err := c.service.Write(b)
	return err == nil
}

// begin connects to the service. Where nobody serves the client's connection breaks.
func (c *conn) begin(answered chan<- struct{}) bool {
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
	go func() {
		defer close(answered)
		c.answer()
	}()
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
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
}
