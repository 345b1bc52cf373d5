package originaltest

import (
	"net"
	"sync"

	"github.com/fencelab/fencelab/internal/platform/network"
)

// cost is what a client asks of its servers.
type cost struct {
	requests int
	trips    int // how often it sent requests after an answer, or after nothing
}

func (c cost) plus(o cost) cost { return cost{c.requests + o.requests, c.trips + o.trips} }

func (c cost) minus(o cost) cost { return cost{c.requests - o.requests, c.trips - o.trips} }

// door is a client's way to a server, which can be shut. It keeps what the client has sent.
type door struct {
	link     *network.Link
	listener *network.Listener
	begins   func(sent []byte) []int

	mu    sync.Mutex
	conns []*tapped
}

// newDoor makes a door to an address. begins finds where each request begins in what was sent over a connection.
func newDoor(to string, begins func(sent []byte) []int) (*door, error) {
	d := &door{link: network.NewTaking(to), begins: begins}
	var err error
	d.listener, err = network.Listen(func(conn net.Conn) {
		c := &tapped{TCPConn: conn.(*net.TCPConn), of: d}
		d.mu.Lock()
		d.conns = append(d.conns, c)
		d.mu.Unlock()
		d.link.Take(c)
	})
	return d, err
}

func (d *door) close() {
	d.listener.Close()
	d.link.Close()
}

// tapped is a client's connection.
type tapped struct {
	*net.TCPConn
	of       *door
	sent     []byte
	answered []int // how much was sent when something was answered
}

// Read reads what the client sends.
func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.sent = append(c.sent, b[:n]...)
	return n, err
}

// Write answers the client.
func (c *tapped) Write(b []byte) (int, error) {
	c.of.mu.Lock()
	c.answered = append(c.answered, len(c.sent))
	c.of.mu.Unlock()
	return c.TCPConn.Write(b)
}

func (d *door) cost() (all cost) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		answers, waits := c.answered, false
		for _, begins := range d.begins(c.sent) {
			for len(answers) > 0 && answers[0] <= begins {
				answers, waits = answers[1:], false
			}
			if !waits {
				all.trips++
			}
			all.requests++
			waits = true
		}
	}
	return all
}

// passed is how many bytes were sent, and how often something was answered.
func (d *door) passed() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		n += len(c.sent) + len(c.answered)
	}
	return n
}

// asks reports whether a request has no answer yet.
func (d *door) asks() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		if n := len(c.answered); len(c.sent) > 0 && (n == 0 || c.answered[n-1] < len(c.sent)) {
			return true
		}
	}
	return false
}
