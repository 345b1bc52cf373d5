package etcd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/pkg/lock"
)

// dialed is a connection to an address.
func (m *members) dialed(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := m.dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// silent is the address of a member that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// answering is the address of one that answers.
func answering(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// brokenOnce waits until a connection is broken.
func brokenOnce(conn net.Conn) error {
	_, _ = conn.Read(make([]byte, 1))
	return &lock.UnknownError{Op: "unlock", Err: status.Error(codes.Unavailable, "broken")}
}

func TestInsistAsksAnotherMember(t *testing.T) {
	t.Parallel()
	m := &members{conns: make(map[string][]net.Conn)}
	conn := m.dialed(t, silent(t))
	m.dialed(t, answering(t))
	tries := 0
	_, err := insist(m, func() (struct{}, error) {
		if tries++; tries == 1 {
			return struct{}{}, brokenOnce(conn)
		}
		return struct{}{}, nil
	})
	if tries != 2 || err != nil {
		t.Errorf("after %d tries %v, want 2 and success", tries, err)
	}
}

// TestSilentMembersAlone: where nobody answers no other member would be better.
func TestSilentMembersAlone(t *testing.T) {
	t.Parallel()
	m := &members{conns: make(map[string][]net.Conn)}
	m.dialed(t, silent(t))
	m.dialed(t, silent(t))
	if conns := m.silent(t.Context()); len(conns) != 0 {
		t.Errorf("%d connections are to be broken, and nobody answers", len(conns))
	}
	m.dialed(t, answering(t))
	if conns := m.silent(t.Context()); len(conns) != 2 || len(m.conns) != 1 {
		t.Errorf("%d connections are to be broken and %d members are left, want two and the one that answers", len(conns), len(m.conns))
	}
}

// released is a tenure whose first unlock was done, and not answered.
type released struct {
	position
	conn  net.Conn
	tries int
}

func (r *released) Unlock(context.Context) error {
	if r.tries++; r.tries == 1 {
		return brokenOnce(r.conn)
	}
	return lock.ErrLost
}

// TestUnlockIsItsOwnLoss: where the tenure is over at the second try, that may be the
// first one's doing.
func TestUnlockIsItsOwnLoss(t *testing.T) {
	t.Parallel()
	m := &members{conns: make(map[string][]net.Conn)}
	r := &released{conn: m.dialed(t, silent(t))}
	m.dialed(t, answering(t))
	err := (&tenure{position: r, of: &client{members: m}}).Unlock(t.Context())
	if r.tries != 2 || errors.Is(err, lock.ErrLost) || !errors.As(err, new(*lock.UnknownError)) {
		t.Errorf("after %d tries %v, want the first error", r.tries, err)
	}
}
