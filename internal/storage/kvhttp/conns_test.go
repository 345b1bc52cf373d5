package kvhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// serveLimited serves an empty storage that is held to l.
func serveLimited(t *testing.T, l kvhttp.Limits, secure bool) (addr string, m *kvhttp.Metrics) {
	t.Helper()
	m = kvhttp.NewMetrics()
	srv := httptest.NewUnstartedServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Metrics: m}))
	addr = srv.Listener.Addr().String()
	srv.Listener = kvhttp.LimitConnections(srv.Listener, l, secure, m)
	srv.Start()
	t.Cleanup(srv.Close)
	return addr, m
}

// dialFrom connects from an address of this machine.
func dialFrom(t *testing.T, addr, ip string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // against a test that hangs
	return c
}

// ask sends a whole request and reads the answer.
func ask(t *testing.T, c net.Conn) (*http.Response, []byte) {
	t.Helper()
	fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}

func wantServed(t *testing.T, c net.Conn) {
	t.Helper()
	if resp, b := ask(t, c); resp.StatusCode != 200 {
		t.Errorf("%s %s, want it served", resp.Status, b)
	}
}

func wantRefused(t *testing.T, c net.Conn, max int64) {
	t.Helper()
	resp, b := ask(t, c)
	wantLimit(t, resp.StatusCode, resp.Header, b, 503, kv.LimitConnections, max)
	if !resp.Close {
		t.Error("the answer does not say Connection: close")
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the refusal: %v, want the end", err)
	}
}

// awaitConnections waits until so many are counted.
func awaitConnections(t *testing.T, m *kvhttp.Metrics, n int) {
	t.Helper()
	want := fmt.Sprintf("\nfencelab_storage_connections %d\n", n)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		text := call(m, "GET", "/metrics", "").Body.String()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", want, text)
		}
	}
}

// TestLimitOfConnections: one over the limit is told so, also when those before
// it send nothing; when one of these goes there is room.
func TestLimitOfConnections(t *testing.T) {
	addr, m := serveLimited(t, kvhttp.Limits{Connections: 4, PerClient: 4}, false)
	var open []net.Conn
	for range 4 {
		open = append(open, dialFrom(t, addr, "127.0.0.1"))
	}
	for range 200 { // more than may be told at a time, one after another
		c := dialFrom(t, addr, "127.0.0.1")
		wantRefused(t, c, 4)
		c.Close()
	}
	if n := limited(t, m, kv.LimitConnections); n != 200 {
		t.Errorf("the metric counts %d, want 200", n)
	}
	for _, c := range open {
		wantServed(t, c)
	}
	awaitConnections(t, m, 4)
	open[0].Close()
	awaitConnections(t, m, 3)
	wantServed(t, dialFrom(t, addr, "127.0.0.1"))
	wantRefused(t, dialFrom(t, addr, "127.0.0.1"), 4)
	for _, c := range open {
		c.Close()
	}
}

// TestConnectionsOfOneClient: one address cannot take all.
func TestConnectionsOfOneClient(t *testing.T) {
	addr, m := serveLimited(t, kvhttp.Limits{Connections: 5}, false) // of one client: 4
	for range 4 {
		wantServed(t, dialFrom(t, addr, "127.0.0.1"))
	}
	wantRefused(t, dialFrom(t, addr, "127.0.0.1"), 4)
	wantServed(t, dialFrom(t, addr, "127.0.0.2"))
	wantRefused(t, dialFrom(t, addr, "127.0.0.3"), 5)
	if n := limited(t, m, kv.LimitConnections); n != 2 {
		t.Errorf("the metric counts %d, want 2", n)
	}
}

// TestRefusalsWaitForNobody: clients that are refused and stay, without a word,
// keep nobody from being accepted, and are closed in the end.
func TestRefusalsWaitForNobody(t *testing.T) {
	addr, m := serveLimited(t, kvhttp.Limits{Connections: 400, PerClient: 1}, false)
	var silent []net.Conn
	for range 300 { // more than may be told at a time
		silent = append(silent, dialFrom(t, addr, "127.0.0.1"))
	}
	wantServed(t, dialFrom(t, addr, "127.0.0.2"))
	awaitConnections(t, m, 2)
	for _, c := range silent[1:] {
		if b, err := io.ReadAll(c); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%q, %v, want the end", b, err)
		}
	}
	if n := limited(t, m, kv.LimitConnections); n != 299 {
		t.Errorf("the metric counts %d, want 299", n)
	}
}

// TestClientOfARefusingStorage: net/http's client gets the refusal, and it is
// definite, also for a request with a body.
func TestClientOfARefusingStorage(t *testing.T) {
	addr, _ := serveLimited(t, kvhttp.Limits{Connections: 1}, false)
	wantServed(t, dialFrom(t, addr, "127.0.0.1"))
	for _, size := range []int{0, 10, 100_000} {
		for range 50 {
			client := kvhttp.NewClient("http://"+addr, kvhttp.ClientOptions{})
			req := kv.Request{}
			req.Token = 1
			_, err := client.Write(context.Background(), req, "a", strings.Repeat("x", size))
			client.Close()
			if err == nil || isUnknown(err) || !strings.Contains(err.Error(), "over the limit of 1 connections") {
				t.Fatalf("a write of %d bytes: %v", size, err)
			}
		}
	}
}

// TestSecureConnectionsAreOnlyClosed: what is no TLS would only confuse a client
// that speaks TLS.
func TestSecureConnectionsAreOnlyClosed(t *testing.T) {
	addr, m := serveLimited(t, kvhttp.Limits{Connections: 1}, true)
	wantServed(t, dialFrom(t, addr, "127.0.0.1"))
	c := dialFrom(t, addr, "127.0.0.1")
	fmt.Fprint(c, "\x16") // the first of a handshake
	if b, err := io.ReadAll(c); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v, want the end", b, err)
	}
	if n := limited(t, m, kv.LimitConnections); n != 1 {
		t.Errorf("the metric counts %d, want 1", n)
	}
}

// TestListenerEnds: it passes on that it was closed.
func TestListenerEnds(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := kvhttp.LimitConnections(ln, kvhttp.Limits{}, false, nil)
	limited.Close()
	if _, err := limited.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
