package network

import (
	"context"
	"io"
	"net"
	"sync"
)

// Door is an address at which clients find the one of several servers that leads, as behind a proxy. Where one end of
// a connection hangs up, the other end is hung up on, too.
type Door struct {
	listener *Listener
	running  sync.WaitGroup

	mu  sync.Mutex
	way way
}

// way is where a door leads, until it leads elsewhere.
type way struct {
	to     string
	opened chan struct{} // closed when connections go through
	here   context.Context
	end    context.CancelFunc
}

func wayTo(to string) way {
	w := way{to: to, opened: make(chan struct{})}
	w.here, w.end = context.WithCancel(context.Background())
	return w
}

// NewDoor makes a door to an address, host:port.
func NewDoor(to string) (*Door, error) {
	d := &Door{way: wayTo(to)}
	close(d.way.opened)
	var err error
	d.listener, err = Listen(func(client net.Conn) {
		d.mu.Lock()
		defer d.mu.Unlock()
		now := d.way
		d.running.Go(func() { now.pass(client) })
	})
	return d, err
}

// Addr is where clients find the server that leads, host:port.
func (d *Door) Addr() string { return d.listener.Addr() }

// Turn breaks all connections, and has new ones lead to another address. They wait until open is called.
func (d *Door) Turn(to string) (open func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.way.end()
	d.way = wayTo(to)
	opened := d.way.opened
	return func() { close(opened) }
}

// Close takes no new connections, and breaks all.
func (d *Door) Close() {
	d.listener.Close()
	d.mu.Lock()
	d.way.end()
	d.mu.Unlock()
	d.running.Wait()
}

// pass connects a client with the server, until one of the two hangs up or the door leads elsewhere.
func (w way) pass(client net.Conn) {
	defer abort(client)
	select {
	case <-w.opened:
	case <-w.here.Done():
		return
	}
	server, err := new(net.Dialer).DialContext(w.here, "tcp", w.to)
	if err != nil {
		return
	}
	over, stop := context.WithCancel(w.here)
	defer context.AfterFunc(over, func() {
		abort(client)
		abort(server)
	})()
	var answers sync.WaitGroup
	answers.Go(func() {
		defer stop()
		_, _ = io.Copy(client, server)
	})
	_, _ = io.Copy(server, client)
	stop()
	answers.Wait()
}
