package kvhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// serveOwn serves a storage whose server's own answers say what became of the request.
func serveOwn(t *testing.T) (addr string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
	addr = srv.Listener.Addr().String()
	srv.Listener = kvhttp.LimitConnections(srv.Listener, kvhttp.Limits{}, false, nil)
	srv.Config.MaxHeaderBytes = 1 << 10
	kvhttp.Attach(srv.Config, kvhttp.NewTurns())
	srv.Start()
	t.Cleanup(srv.Close)
	return addr
}

// answersTo sends these bytes by one connection, and reads as many answers.
func answersTo(t *testing.T, addr, sent string, number int) (all []*http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // against a test that hangs
	if _, err := io.WriteString(c, sent); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for range number {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%.60q: %v", sent, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%.60q: %v", sent, err)
		}
		resp.Body = io.NopCloser(strings.NewReader(string(b)))
		all = append(all, resp)
	}
	return all
}

// TestOwnAnswersSayTheOutcome: what package http answers by itself is definite, as all is
// below status 500, or says so.
func TestOwnAnswersSayTheOutcome(t *testing.T) {
	const head = "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\n"
	addr := serveOwn(t)
	for sent, want := range map[string]struct {
		status  int
		outcome string
	}{
		head + "Transfer-Encoding: gzip\r\n\r\n":                            {501, "none"},
		head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n": {501, "none"},
		"GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n":                  {505, "none"},
		"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n":                  {505, "none"},
		"no request\r\n\r\n":                                                {400, ""},
		"GET /healthz HTTP/1.1\r\n\r\n":                                     {400, ""},
		head + "Content-Length: -1\r\n\r\n":                                 {400, ""},
		head + "Expect: a miracle\r\nContent-Length: 0\r\n\r\n":             {417, ""},
		head + "X: " + strings.Repeat("x", 1<<15) + "\r\n\r\n":              {431, ""},
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                     {404, ""},
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\n\r\n": {403, ""},
	} {
		for _, before := range []string{"", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
			all := answersTo(t, addr, before+sent, strings.Count(before, "GET")+1)
			resp := all[len(all)-1]
			if got := resp.Header.Values("Fencing-Outcome"); resp.StatusCode != want.status || strings.Join(got, ", ") != want.outcome {
				t.Errorf("%.80q: status %d, outcome %q, want %d, %q", before+sent, resp.StatusCode, got, want.status, want.outcome)
			}
		}
	}
}

// TestOwnAnswersLeaveValuesAlone: a value can look like an answer, wherever package http cuts
// it into pieces.
func TestOwnAnswersLeaveValuesAlone(t *testing.T) {
	addr := serveOwn(t)
	const line = "HTTP/1.1 505 \r\n"
	for before := range len(line) {
		value := strings.Repeat(" ", before) + strings.Repeat(line, 10_000)
		put := fmt.Sprintf("PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nContent-Length: %d\r\n\r\n%s", len(value), value)
		get := "GET /v1/kv/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
		for _, resp := range answersTo(t, addr, put+get+get, 3)[1:] {
			if got, _ := io.ReadAll(resp.Body); string(got) != value {
				t.Errorf("the value after %d spaces came back changed, with %d bytes for %d", before, len(got), len(value))
			}
		}
	}
}
