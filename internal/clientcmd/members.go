package clientcmd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// members are the connections to the members of etcd that a client knows. A member
// that stands still keeps its connections, and what was asked by one of them waits
// without an error. So while something waits each member is asked whether it is
// there, and the connections to one that says nothing are broken, where another
// answers: etcd's client then goes on with that one. Where nothing waits nobody
// asks: the renewals of a lease may be stuck all the same.
type members struct {
	known int // how many the client was told of

	mu    sync.Mutex
	conns []*memberConn
}

// memberConn is a connection to the member at an address.
type memberConn struct {
	net.Conn
	addr string
	of   *members
}

const (
	memberPeriod  = 250 * time.Millisecond // between two questions
	memberTimeout = time.Second            // after which one says nothing
)

// dial connects to a member, for gRPC.
func (m *members) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &memberConn{conn, addr, m}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns = append(m.conns, c)
	return c, nil
}

// Close implements net.Conn.
func (c *memberConn) Close() error {
	c.of.mu.Lock()
	c.of.conns = slices.DeleteFunc(c.of.conns, func(o *memberConn) bool { return o == c })
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// insist does something that waits for etcd, and does it again where it failed
// because a connection to a member was broken that said nothing.
func (m *members) insist(do func() error) error {
	for {
		done := m.attend()
		err := do()
		if broke := done(); !broke || status.Code(err) != codes.Unavailable {
			return err
		}
	}
}

// attend asks the members until done is called, which says whether it broke any
// connections.
func (m *members) attend() (done func() (broke bool)) {
	if m.known < 2 {
		return func() bool { return false }
	}
	var broke atomic.Bool
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case <-time.After(memberPeriod):
			case <-ctx.Done():
				return
			}
			for _, c := range m.silent(ctx) {
				broke.Store(true)
				c.Close()
			}
		}
	}()
	return func() bool { cancel(); return broke.Load() }
}

// silent are the connections to members that say nothing, while another answers.
func (m *members) silent(ctx context.Context) []*memberConn {
	m.mu.Lock()
	conns := slices.Clone(m.conns)
	m.mu.Unlock()
	says := make(map[string]*atomic.Bool)
	for _, c := range conns {
		says[c.addr] = new(atomic.Bool)
	}
	var asked sync.WaitGroup
	for addr, something := range says {
		asked.Go(func() { something.Store(answers(ctx, addr)) })
	}
	asked.Wait()
	silent := slices.DeleteFunc(slices.Clone(conns), func(c *memberConn) bool { return says[c.addr].Load() })
	if ctx.Err() != nil || len(silent) == len(conns) {
		return nil
	}
	return silent
}

// answers reports whether the member at an address says anything, be it a refusal.
func answers(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/version", nil)
	if err != nil {
		return true
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return !errors.Is(err, context.DeadlineExceeded)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be closed in peace
	return true
}
