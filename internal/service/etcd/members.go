package etcd

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// members are the connections to the members of etcd that a client knows. A member that stands still
// keeps its connections, and what was asked by one of them waits without an error. So while something
// waits each member is asked whether it is there, and the connections to one that says nothing are
// broken, where another answers: etcd's client then goes on with that one. Where nothing waits nobody
// asks: the renewals of a lease may be stuck all the same.
type members struct {
	mu    sync.Mutex
	conns map[string][]net.Conn // by address
}

const (
	memberPeriod  = 250 * time.Millisecond // between two questions
	memberTimeout = time.Second            // after which one says nothing
)

func (m *members) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns[addr] = append(m.conns[addr], conn)
	return conn, nil
}

// insist does something that waits for etcd, and does it again where it failed
// because a connection to a member was broken that said nothing.
func insist[T any](m *members, do func() (T, error)) (T, error) {
	for {
		done := m.attend()
		t, err := do()
		if broke := done(); !broke || status.Code(err) != codes.Unavailable {
			return t, err
		}
	}
}

// attend asks the members until done is called, which says whether it broke any connections.
func (m *members) attend() (done func() (broke bool)) {
	var broke atomic.Bool
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for sleep.For(ctx, memberPeriod) {
			for _, conn := range m.silent(ctx) {
				broke.Store(true) // before anybody notices
				conn.Close()
			}
		}
	}()
	return func() bool { cancel(); return broke.Load() }
}

// silent are the connections to members that say nothing, where another answers. It
// forgets them: they are to be broken.
func (m *members) silent(ctx context.Context) (conns []net.Conn) {
	m.mu.Lock()
	addrs := slices.Collect(maps.Keys(m.conns))
	m.mu.Unlock()
	if len(addrs) < 2 {
		return nil
	}
	say := make([]bool, len(addrs))
	var asked sync.WaitGroup
	for i, addr := range addrs {
		asked.Go(func() { say[i] = answers(ctx, addr) })
	}
	asked.Wait()
	if ctx.Err() != nil || !slices.Contains(say, true) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, addr := range addrs {
		if !say[i] {
			conns = append(conns, m.conns[addr]...)
			delete(m.conns, addr)
		}
	}
	return conns
}

// answers reports whether the member at an address answers, whatever it says.
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
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be closed in peace
	return true
}
