package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// What a relay does with answers.
type mode int

const (
	passes   mode = iota
	holds         // keeps answers until the relay passes them again
	dropsOne      // breaks the connection of the next answer instead of passing it
)

// relay stands between a client and its server.
type relay struct {
	listener net.Listener
	server   string
	asked    atomic.Int64 // pieces of requests

	mu     sync.Mutex
	mode   mode
	change *sync.Cond
}

func startRelay(server string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, server: server}
	r.change = sync.NewCond(&r.mu)
	go r.serve()
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) begin(m mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = m
	r.change.Broadcast()
}

func (r *relay) serve() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			client.Close()
			continue
		}
		go r.pump(server, client, func() bool { r.asked.Add(1); return true })
		go r.pump(client, server, r.lets)
	}
}

// pump passes what comes from one side to the other as long as it may.
func (r *relay) pump(to io.WriteCloser, from io.ReadCloser, may func() bool) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 1<<16)
	for {
		n, err := from.Read(piece)
		if err != nil || !may() {
			return
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return
		}
	}
}

// lets reports whether an answer may pass, when it may.
func (r *relay) lets() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mode == dropsOne {
		r.mode = passes
		return false
	}
	for r.mode == holds {
		r.change.Wait()
	}
	return true
}
