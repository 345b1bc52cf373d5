package kvhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// fakeConn counts how often its deadlines are moved, and has each operation end
// early as often as it is told.
type fakeConn struct {
	net.Conn
	moves int
	early int
	got   []byte
}

func (c *fakeConn) RemoteAddr() net.Addr               { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *fakeConn) SetReadDeadline(t time.Time) error  { c.moves++; return nil }
func (c *fakeConn) SetWriteDeadline(t time.Time) error { c.moves++; return nil }

func (c *fakeConn) Read(b []byte) (int, error) {
	if c.early > 0 {
		c.early--
		return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	}
	return copy(b, "text"), nil
}

func (c *fakeConn) Write(b []byte) (int, error) {
	if c.early > 0 {
		c.early--
		c.got = append(c.got, b[0])
		return 1, &net.OpError{Op: "write", Err: os.ErrDeadlineExceeded}
	}
	c.got = append(c.got, b...)
	return len(b), nil
}

// fakeListener accepts one connection.
type fakeListener struct {
	net.Listener
	conn net.Conn
}

func (l fakeListener) Accept() (net.Conn, error) { return l.conn, nil }

// limitedConn is c as a server gets it.
func limitedConn(t *testing.T, c net.Conn) net.Conn {
	t.Helper()
	limited, err := kvhttp.LimitConnections(fakeListener{conn: c}, kvhttp.Limits{}, false, nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	return limited
}

// TestDeadlinesOfRequestsMoveFewTimers: of the eight deadlines that package http
// sets in each request only two move the connection's own: the one that ends the
// read that waits for the client's end, and the one after it.
func TestDeadlinesOfRequestsMoveFewTimers(t *testing.T) {
	fake := new(fakeConn)
	c := limitedConn(t, fake)
	const requests = 100
	for range requests {
		now := time.Now()
		c.SetReadDeadline(now.Add(5 * time.Second)) // header
		c.SetReadDeadline(now.Add(time.Minute))     // body
		c.SetWriteDeadline(now.Add(time.Minute))
		c.SetReadDeadline(time.Time{})     // while the handler is at work
		c.SetReadDeadline(time.Unix(1, 0)) // it is done
		c.SetReadDeadline(time.Time{})
		c.SetWriteDeadline(time.Time{})
		c.SetReadDeadline(now.Add(2 * time.Minute)) // until the next request
	}
	if first := 2; fake.moves > 2*requests+first {
		t.Errorf("%d requests moved %d deadlines", requests, fake.moves)
	}
}

// TestOperationsGoOnUntilTheirDeadline: what a timer ends before the deadline goes
// on where it was.
func TestOperationsGoOnUntilTheirDeadline(t *testing.T) {
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		fake := new(fakeConn)
		c := limitedConn(t, fake)
		if err := c.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		fake.early = 3
		b := make([]byte, 10)
		if n, err := c.Read(b); string(b[:n]) != "text" || err != nil {
			t.Errorf("read %q, %v", b[:n], err)
		}
		fake.early = 3
		if n, err := c.Write([]byte("abcdefgh")); n != 8 || err != nil || string(fake.got) != "abcdefgh" {
			t.Errorf("wrote %d, %v: %q", n, err, fake.got)
		}
		fake.early = 1
		if err := c.SetDeadline(time.Now().Add(-time.Nanosecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Write([]byte("xyz")); n != 1 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline: wrote %d, %v", n, err)
		}
	}
}

// TestDeadlineIsNeitherEarlyNorLost: whatever deadlines were set before, a read that
// nothing comes for ends at the last one.
func TestDeadlineIsNeitherEarlyNorLost(t *testing.T) {
	const soon = 30 * time.Millisecond
	past := time.Unix(1, 0)
	for name, before := range map[string][]func() time.Time{
		"the first":          {},
		"after a sooner one": {func() time.Time { return time.Now().Add(soon / 10) }},
		"after one that is over, and a later one": {func() time.Time { return time.Now().Add(soon / 10) }, func() time.Time { return past }},
		"after a later one":                       {func() time.Time { return time.Now().Add(time.Hour) }},
		"after one that is over":                  {func() time.Time { return past }},
		"after none":                              {func() time.Time { return time.Now().Add(time.Hour) }, func() time.Time { return past }, func() time.Time { return time.Time{} }},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := net.Pipe()
			defer client.Close()
			c := limitedConn(t, pipeConn{server})
			defer c.Close()
			for _, at := range before {
				c.SetReadDeadline(at())
			}
			start := time.Now()
			c.SetReadDeadline(start.Add(soon))
			_, err := c.Read(make([]byte, 1))
			if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < soon {
				t.Errorf("after %v: %v, want the end after %v", took, err, soon)
			}
		})
	}
}

// pipeConn has an address, which the listener counts by.
type pipeConn struct{ net.Conn }

func (pipeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// TestSlowClientsAreGivenUp: the server's timeouts end who does not send the rest of
// a header, or of a body, and who does not ask again.
func TestSlowClientsAreGivenUp(t *testing.T) {
	const soon = time.Second // the server reads what is there within it, on a busy machine, too
	const put = "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\nContent-Length: 2\r\n\r\n"
	for _, tt := range []struct {
		name, sent string
		statuses   []int
		set        func(*http.Server)
	}{
		{"header", put[:40], nil, func(s *http.Server) { s.ReadHeaderTimeout = soon }},
		{"header of the second", put + "ab" + put[:40], []int{204}, func(s *http.Server) { s.ReadHeaderTimeout = soon }},
		{"body", put + "a", []int{408}, func(s *http.Server) { s.ReadTimeout = soon }},
		{"body of the second", put + "ab" + put + "a", []int{204, 408}, func(s *http.Server) { s.ReadTimeout = soon }},
		{"next request", put + "ab", []int{204}, func(s *http.Server) { s.IdleTimeout = soon }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
			srv.Config.ReadHeaderTimeout, srv.Config.ReadTimeout, srv.Config.IdleTimeout = time.Hour, time.Hour, time.Hour
			tt.set(srv.Config)
			srv.Listener = kvhttp.LimitConnections(srv.Listener, kvhttp.Limits{}, false, nil)
			srv.Start()
			defer srv.Close()
			c := dialFrom(t, srv.Listener.Addr().String(), "127.0.0.1")
			fmt.Fprint(c, tt.sent)
			r := bufio.NewReader(c)
			for _, status := range tt.statuses {
				resp, err := http.ReadResponse(r, nil)
				if err != nil || resp.StatusCode != status {
					t.Fatalf("got %v, %v, want status %d", resp, err, status)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %q, %v, want the end", b, err)
			}
		})
	}
}
