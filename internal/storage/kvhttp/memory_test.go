package kvhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// budget is what bodies of 5,000, 20,000 and 60,000 bytes, of which nobody knows how
// long they get, fill together to the last byte.
const budget = 12_288 + 28_672 + 61_440

// held is a request whose body stops after its first n bytes, until release.
func held(t *testing.T, h http.Handler, n int) (release func()) {
	t.Helper()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		req := httptest.NewRequest("PUT", "/v1/kv/held", r)
		req.ContentLength = -1
		h.ServeHTTP(httptest.NewRecorder(), req)
	}()
	// The pipe has no memory: when this returns the handler has n bytes.
	if _, err := w.Write(bytes.Repeat([]byte("x"), n)); err != nil {
		t.Fatal(err)
	}
	return func() {
		w.CloseWithError(io.ErrUnexpectedEOF)
		<-done
	}
}

// TestLimitOfMemory: bodies and answers that are under way have so much together.
// What is over it is refused, definitely; what is small is served all the same.
func TestLimitOfMemory(t *testing.T) {
	e, m := kv.NewMemory(kv.Options{}), kvhttp.NewMetrics()
	h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Body: budget, Memory: budget}, Metrics: m})
	large, small := strings.Repeat("x", budget/2), strings.Repeat("x", 4096)
	call(h, "PUT", "/v1/kv/large", large, "Fencing-Token", "1")
	release := held(t, h, 60_000)
	defer held(t, h, 20_000)()
	defer held(t, h, 5_000)()
	refused := 0
	for _, tt := range []struct{ method, path, body string }{
		{"PUT", "/v1/kv/a", large},
		{"GET", "/v1/kv/large", ""},
		{"POST", "/v1/batch", `{"ops":[{"op":"write","key":"a","val":"` + large + `"}]}`},
	} {
		w := call(h, tt.method, tt.path, tt.body, "Fencing-Token", "1", "Fencing-Scope", "/lock")
		wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 503, kv.LimitMemory, budget)
		if tt.body != "" && w.Header().Get("Connection") != "close" {
			t.Errorf("%s %s: the connection stays, with the rest of the body to come", tt.method, tt.path)
		}
		refused++
	}
	wantContrib(t, call(h, "POST", "/", `{"op":"write","key":"a","val":"`+large+`","version":1}`), 503)
	wantContrib(t, call(h, "POST", "/", `{"op":"read","key":"large"}`), 503)
	if n := limited(t, m, kv.LimitMemory); n != refused+2 {
		t.Errorf("the metric counts %d, want %d", n, refused+2)
	}
	if _, err := e.Read(t.Context(), kv.Request{}, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a refused write was done: %v", err)
	}
	if w := call(h, "PUT", "/v1/kv/small", small, "Fencing-Token", "1"); w.Code != 204 {
		t.Errorf("a small write: %d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/v1/kv/small", ""); w.Body.String() != small {
		t.Errorf("a small read: %d %s", w.Code, w.Body)
	}
	release()
	if w := call(h, "PUT", "/v1/kv/a", large, "Fencing-Token", "1"); w.Code != 204 {
		t.Errorf("when there is room again: %d %s", w.Code, w.Body)
	}
}

// TestContribAnswerHasRoom: what an answer takes up is taken before the write is
// done, and a "<" is six bytes in it.
func TestContribAnswerHasRoom(t *testing.T) {
	e := kv.NewMemory(kv.Options{})
	h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Memory: budget}})
	wantContrib(t, call(h, "POST", "/", `{"op":"write","key":"a","val":"`+strings.Repeat("<", budget/3)+`","version":1}`), 503)
	if _, err := e.Read(t.Context(), kv.Request{}, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a refused write was done: %v", err)
	}
}

// panics is an engine with a fault.
type panics struct{ kv.Engine }

func (panics) Write(context.Context, kv.Request, ...kv.Op) error { panic("a fault") }

// TestMemoryIsGivenBack: after thousands of requests that end in every way all of
// the budget is there.
func TestMemoryIsGivenBack(t *testing.T) {
	e := kv.NewMemory(kv.Options{MaxKeys: 3})
	limits := kvhttp.Limits{Body: budget, Memory: budget, Value: budget / 2}
	h := kvhttp.NewHandler(e, kvhttp.Options{Limits: limits})
	whole := func(h http.Handler) {
		t.Helper()
		// It needs every byte of the budget.
		if w := call(h, "PUT", "/v1/kv/a", strings.Repeat("x", budget), "Fencing-Token", "1"); w.Code != 413 || !strings.Contains(w.Body.String(), "for a value") {
			t.Fatalf("the budget is not whole: %d %.200s", w.Code, w.Body)
		}
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	contrib := func(key string, n int) string {
		return fmt.Sprintf(`{"op":"write","key":%q,"val":%q,"version":2}`, key, x(n))
	}
	for _, key := range []string{"a", "b", "c"} {
		call(h, "PUT", "/v1/kv/"+key, x(budget/4), "Fencing-Token", "2")
	}
	ways := []struct {
		method, path string
		body         io.Reader
		status       int
	}{
		{"PUT", "/v1/kv/a", strings.NewReader(x(9_000)), 204},
		{"PUT", "/v1/kv/a", iotest.OneByteReader(strings.NewReader(x(9_000))), 204},
		{"PUT", "/v1/kv/new", strings.NewReader(x(9_000)), 507},
		{"PUT", "/v1/kv/a", strings.NewReader(x(budget * 3 / 4)), 413},
		{"PUT", "/v1/kv/a", strings.NewReader(x(budget + 1)), 413},
		{"PUT", "/v1/kv/a", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(x(9_000)))), 400},
		{"PUT", "/v1/kv/a", io.MultiReader(strings.NewReader(x(9_000)), iotest.ErrReader(io.ErrUnexpectedEOF)), 400},
		{"GET", "/v1/kv/b", http.NoBody, 200},
		{"HEAD", "/v1/kv/b", http.NoBody, 200},
		{"POST", "/v1/batch", strings.NewReader(x(9_000)), 400},
		{"POST", "/", strings.NewReader(contrib("a", 9_000)), 200},
		{"POST", "/", strings.NewReader(contrib("new", 9_000)), 507},
		{"POST", "/", strings.NewReader(`{"op":"read","key":"b"}`), 200},
		{"PUT", "/v1/floor", strings.NewReader(x(9_000)), 400},
	}
	const rounds = 300
	for i := range rounds {
		for _, way := range ways {
			body := way.body
			if s, ok := body.(*strings.Reader); ok {
				_, _ = s.Seek(0, io.SeekStart)
			} else if i > 0 && body != http.NoBody {
				body = io.MultiReader(strings.NewReader(x(9_000)), iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			r := httptest.NewRequest(way.method, way.path, body)
			if _, ok := body.(*strings.Reader); !ok && body != http.NoBody {
				r.ContentLength = -1
			}
			r.Header.Set("Fencing-Token", "2")
			r.Header.Set("Fencing-Scope", way.path)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if i == 0 && w.Code != way.status {
				t.Errorf("%s %s: %d %.200s, want %d", way.method, way.path, w.Code, w.Body, way.status)
			}
		}
	}
	whole(h)
	var wg sync.WaitGroup
	for range 8 { // so many that the budget is too small for all
		wg.Go(func() {
			for range rounds {
				call(h, "PUT", "/v1/kv/a", x(budget/4), "Fencing-Token", "2")
			}
		})
	}
	wg.Wait()
	whole(h)
	faulty := kvhttp.NewHandler(panics{e}, kvhttp.Options{Limits: limits})
	for range 20 {
		func() {
			defer func() { _ = recover() }()
			call(faulty, "PUT", "/v1/kv/a", x(9_000), "Fencing-Token", "2")
		}()
	}
	whole(faulty)
}

// TestSlowBody: one that does not come in time is told so by status 408, and has
// changed nothing.
func TestSlowBody(t *testing.T) {
	e := kv.NewMemory(kv.Options{})
	srv := httptest.NewUnstartedServer(kvhttp.NewHandler(e, kvhttp.Options{}))
	srv.Config.ReadHeaderTimeout, srv.Config.ReadTimeout = time.Minute, 50*time.Millisecond
	srv.Start()
	defer srv.Close()
	for _, length := range []string{"Content-Length: 10", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\n%s\r\n\r\n3\r\n", length)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 408 || !resp.Close || !strings.Contains(string(b), "did not come in time") {
			t.Errorf("%s: %s %v %s", length, resp.Status, resp.Header, b)
		}
	}
	if mark, err := e.Mark(t.Context(), "a"); err != nil || mark.Token != 0 {
		t.Errorf("afterwards the mark is %+v, %v", mark, err)
	}
}

// stuck is a client that takes nothing of its answer until it is let go.
type stuck struct {
	*httptest.ResponseRecorder
	begun, on chan struct{}
	once      sync.Once
}

func (s *stuck) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.begun); <-s.on })
	return s.ResponseRecorder.Write(b)
}

// TestLimitOfSnapshots: a second one is refused while one is under way.
func TestLimitOfSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kvhttp.NewMetrics()
		h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Metrics: m})
		first := &stuck{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), on: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(first, httptest.NewRequest("GET", "/v1/snapshot", nil))
		}()
		<-first.begun
		w := call(h, "GET", "/v1/snapshot", "")
		wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 503, kv.LimitSnapshots, 1)
		if n := limited(t, m, kv.LimitSnapshots); n != 1 {
			t.Errorf("the metric counts %d", n)
		}
		close(first.on)
		<-done
		if w := call(h, "GET", "/v1/snapshot", ""); first.Code != 200 || w.Code != 200 {
			t.Errorf("%d, then %d %s", first.Code, w.Code, w.Body)
		}
	})
}
