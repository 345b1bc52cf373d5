package network

import (
	"net"
	"sync"
)

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

// Close takes no more connections, and returns when the last one was given to the
// function.
func (l *Listener) Close() {
	l.net.Close()
	l.running.Wait()
}
