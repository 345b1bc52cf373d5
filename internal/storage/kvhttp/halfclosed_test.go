package kvhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// lateEngine begins nothing before the server has seen that the client has closed its
// sending side. There net/http cancels the request's context.
type lateEngine struct {
	kv.Engine
	request context.Context
}

func (e *lateEngine) Write(ctx context.Context, req kv.Request, ops ...kv.Op) error {
	<-e.request.Done()
	return e.Engine.Write(ctx, req, ops...)
}

func (e *lateEngine) Read(ctx context.Context, req kv.Request, key string) (kv.Item, error) {
	<-e.request.Done()
	return e.Engine.Read(ctx, req, key)
}

func (e *lateEngine) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	<-e.request.Done()
	return e.Engine.Mark(ctx, scope)
}

func (e *lateEngine) Floor(ctx context.Context) (fence.Token, error) {
	<-e.request.Done()
	return e.Engine.Floor(ctx)
}

func (e *lateEngine) Raise(ctx context.Context, floor fence.Token) (int, error) {
	<-e.request.Done()
	return e.Engine.Raise(ctx, floor)
}

func (e *lateEngine) Snapshot(ctx context.Context, visit func(kv.Entry) error) error {
	<-e.request.Done()
	return e.Engine.Snapshot(ctx, visit)
}

// TestHalfClosedClientIsServed: a client that closes its sending side after a whole
// request has the same answer as each other, from every engine, and no error is logged.
func TestHalfClosedClientIsServed(t *testing.T) {
	requests := []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPut, "/v1/kv/a", "x", http.StatusNoContent},
		{http.MethodPut, "/v1/kv/large", strings.Repeat("x", 512<<10), http.StatusNoContent},
		{http.MethodGet, "/v1/kv/a", "", http.StatusOK},
		{http.MethodPost, "/v1/batch", `{"ops":[{"op":"write","key":"b","val":"y"}]}`, http.StatusNoContent},
		{http.MethodPost, "/", `{"op":"write","key":"c","val":"z","version":1}`, http.StatusOK},
		{http.MethodGet, "/v1/marks/a", "", http.StatusOK},
		{http.MethodDelete, "/v1/kv/a", "", http.StatusNoContent},
		{http.MethodGet, "/v1/snapshot", "", http.StatusOK},
		{http.MethodPut, "/v1/floor", `{"token":"1"}`, http.StatusOK},
		{http.MethodGet, "/v1/floor", "", http.StatusOK},
	}
	for _, kind := range kvtest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			var logged strings.Builder
			e := &lateEngine{Engine: kind.Open(t, kv.Options{})}
			h := kvhttp.NewHandler(e, kvhttp.Options{EngineWaits: true,
				Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				e.request = r.Context()
				h.ServeHTTP(w, r)
			}))
			for _, q := range requests {
				resp, err := sendHalfClosed(srv.Listener.Addr().String(), q.method, q.path, q.body)
				if err != nil {
					t.Errorf("%s %s: %v", q.method, q.path, err)
				} else if resp.StatusCode != q.status {
					t.Errorf("%s %s: status %d, want %d", q.method, q.path, resp.StatusCode, q.status)
				}
			}
			srv.Close()
			if logged.Len() > 0 {
				t.Errorf("logged:\n%s", &logged)
			}
		})
	}
}

// sendHalfClosed sends a whole request, closes the sending side, and reads the whole answer.
func sendHalfClosed(addr, method, path, body string) (*http.Response, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\nFencing-Scope: a\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	if _, err := io.WriteString(conn, text); err != nil {
		return nil, err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return resp, err
}
