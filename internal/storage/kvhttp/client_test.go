package kvhttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

var claimed = kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 3}}

// calls are all that a client can ask for.
var calls = map[string]func(context.Context, *kvhttp.Client) error{
	"write": func(ctx context.Context, c *kvhttp.Client) error {
		_, err := c.Write(ctx, claimed, "a", "1")
		return err
	},
	"write empty": func(ctx context.Context, c *kvhttp.Client) error {
		_, err := c.Write(ctx, claimed, "a", "")
		return err
	},
	"delete": func(ctx context.Context, c *kvhttp.Client) error { _, err := c.Delete(ctx, claimed, "a"); return err },
	"batch": func(ctx context.Context, c *kvhttp.Client) error {
		_, err := c.Batch(ctx, claimed, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "1"}, kv.Op{Kind: kv.OpDelete, Key: "b"})
		return err
	},
	"read": func(ctx context.Context, c *kvhttp.Client) error { _, err := c.Read(ctx, claimed, "a"); return err },
}

// cutter is a storage that answers the first request of each connection, and
// reads the second and hangs up. It counts those that it hung up on.
func cutter(t *testing.T) (url string, cut *atomic.Int32) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	cut = new(atomic.Int32)
	serve := func(conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		for n := 1; ; n++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if n == 2 {
				cut.Add(1)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return "http://" + ln.Addr().String(), cut
}

func isUnknown(err error) bool { return fence.OutcomeOf(err) == fence.Unknown }

// TestClientSendsOnce: what can change something goes out once, also where
// net/http could send it again by itself; the one that was cut is unknown.
func TestClientSendsOnce(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			url, cut := cutter(t)
			client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
			defer client.Close()
			if err := call(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			err := call(t.Context(), client)
			if !isUnknown(err) || cut.Load() != 1 {
				t.Errorf("cut %d times: %v, want 1 and an unknown outcome", cut.Load(), err)
			}
		})
	}
}

// TestClientTellsUnknown: an error is definite only where the storage said so,
// or was never reached.
func TestClientTellsUnknown(t *testing.T) {
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				return // 200: what a redirect that is followed would lead to
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for _, tt := range []struct {
		name    string
		serve   http.HandlerFunc
		unknown bool
	}{
		{"400", answer(400), false},
		{"412", answer(412, "Fencing-Refused", "stale", "Fencing-Mark", "4"), false},
		{"500", answer(500), true},
		{"503", answer(503), true},
		{"507", answer(507), true},
		{"302", answer(302, "Location", "/elsewhere"), true},
		{"307", answer(307, "Location", "/elsewhere"), true},
		{"hang up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
	} {
		srv := httptest.NewServer(tt.serve)
		defer srv.Close()
		client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
		defer client.Close()
		for name, call := range calls {
			if err := call(t.Context(), client); err == nil || isUnknown(err) != tt.unknown {
				t.Errorf("%s, %s: %v, want unknown %v", tt.name, name, err, tt.unknown)
			}
		}
	}
	nobody := kvhttp.NewClient("http://"+proctest.Nobody(t), kvhttp.ClientOptions{})
	for name, call := range calls {
		if err := call(t.Context(), nobody); err == nil || isUnknown(err) {
			t.Errorf("nobody listens, %s: %v, want a definite error", name, err)
		}
	}
	// A token that is none in the answer to a read must not pass for a refusal.
	srv := httptest.NewServer(answer(200, "Fencing-Token", "x"))
	defer srv.Close()
	client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
	defer client.Close()
	if err := calls["read"](t.Context(), client); !isUnknown(err) || errors.Is(err, fence.ErrInvalidToken) {
		t.Error(err)
	}
	if _, err := client.Mark(t.Context(), "/lock"); !isUnknown(err) {
		t.Error(err)
	}
	if _, err := client.Batch(t.Context(), claimed, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "\xff"}); err == nil || isUnknown(err) {
		t.Error(err)
	}
}

// TestOutcomesOfEngines: a client knows of a request what the engine knew of it.
func TestOutcomesOfEngines(t *testing.T) {
	for _, fault := range kvtest.Faults() {
		srv := httptest.NewServer(kvhttp.NewHandler(kvtest.Failing{Engine: kv.NewMemory(kv.Options{}), Err: fault.Err}, kvhttp.Options{}))
		client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
		for name, call := range calls {
			if err := call(t.Context(), client); isUnknown(err) != fault.Unknown {
				t.Errorf("%s of an engine that says %v: got %v, want unknown %v", name, fault.Err, err, fault.Unknown)
			}
		}
		client.Close()
		srv.Close()
	}
}

func TestClientBatch(t *testing.T) {
	srv := httptest.NewServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
	defer srv.Close()
	client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
	defer client.Close()
	req := claimed
	req.Sequence = 1
	ops := []kv.Op{{Kind: kv.OpWrite, Key: "a", Value: ""}, {Kind: kv.OpWrite, Key: "b", Value: "1"}, {Kind: kv.OpDelete, Key: "b"}}
	for _, want := range []bool{false, true} {
		if duplicate, err := client.Batch(t.Context(), req, ops...); err != nil || duplicate != want {
			t.Fatalf("duplicate %v, %v", duplicate, err)
		}
	}
	if item, err := client.Read(t.Context(), kv.Request{}, "a"); err != nil || item != (kv.Item{Token: 3}) {
		t.Errorf("%+v %v", item, err)
	}
	if _, err := client.Read(t.Context(), kv.Request{}, "b"); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
}
