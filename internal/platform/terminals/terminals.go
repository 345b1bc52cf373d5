// Package terminals shows what the processes of a run say, each in a terminal of its own:
// a lane. The run listens, and the lanes come to it.
package terminals

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Lanes are those that have come to a run.
type Lanes struct {
	listener net.Listener
	come     chan struct{} // has one when another lane has come

	mu    sync.Mutex
	conns map[string]net.Conn // by the lanes' names; nil after Close
}

// Listen waits for lanes at the address of a unix socket: @ and a name, or a file.
func Listen(addr string) (*Lanes, error) {
	listener, err := net.Listen("unix", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot wait for lanes, choose another address, such as @lanes: %w", err)
	}
	l := &Lanes{listener: listener, come: make(chan struct{}, 1), conns: make(map[string]net.Conn)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // by Close
			}
			go l.add(conn)
		}
	}()
	return l, nil
}

// add takes in a lane, which says its name first.
func (l *Lanes) add(conn net.Conn) {
	name, err := bufio.NewReader(conn).ReadString('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.conns == nil {
		conn.Close()
		return
	}
	name = strings.TrimSuffix(name, "\n")
	if before := l.conns[name]; before != nil {
		before.Close()
	}
	l.conns[name] = conn
	select {
	case l.come <- struct{}{}:
	default: // another one is news already
	}
}

// Await returns when all lanes of these names have come.
func (l *Lanes) Await(ctx context.Context, names []string) error {
	for {
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return l.conn(name) != nil })
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-l.come:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lanes %s: %w", strings.Join(missing, ", "), context.Cause(ctx))
		}
	}
}

// conn is a lane's; nil where it has not come.
func (l *Lanes) conn(name string) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[name]
}

// Lane shows what is written to it in the lane of that name. What cannot be shown, as
// the lane is gone, is lost: a write never fails.
func (l *Lanes) Lane(name string) io.Writer { return lane{l, name} }

type lane struct {
	of   *Lanes
	name string
}

// patience is for how long a lane may take nothing in: one that stands still is not to hold up the run.
const patience = time.Second

func (l lane) Write(b []byte) (int, error) {
	if conn := l.of.conn(l.name); conn != nil {
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(b); err != nil {
			conn.Close()
		}
	}
	return len(b), nil
}

// Close ends all lanes.
func (l *Lanes) Close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

// Show is a lane: it waits for the run that listens at an address, and shows on w what
// the run has for the lane, until the run or ctx ends.
func Show(ctx context.Context, addr, name string, w io.Writer) error {
	dial := func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", addr) }
	again := backoff.NewConstantBackOff(100 * time.Millisecond)
	conn, err := backoff.Retry(ctx, dial, backoff.WithBackOff(again), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintln(conn, name); err != nil {
		return err
	}
	_, err = io.Copy(w, conn)
	return err
}
