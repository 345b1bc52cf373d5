package kvhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// connection is one whose client neither reads nor sends on, until it is cut off.
type connection struct {
	*httptest.ResponseRecorder
	stalls bool // when the answer is written
	over   chan struct{}
	cut    func()
}

func newConnection(stalls bool) *connection {
	c := &connection{ResponseRecorder: httptest.NewRecorder(), stalls: stalls, over: make(chan struct{})}
	c.cut = sync.OnceFunc(func() { close(c.over) })
	return c
}

func (c *connection) SetReadDeadline(time.Time) error  { c.cut(); return nil }
func (c *connection) SetWriteDeadline(time.Time) error { c.cut(); return nil }

func (c *connection) Write(b []byte) (int, error) {
	if !c.stalls {
		return c.ResponseRecorder.Write(b)
	}
	<-c.over
	return 0, os.ErrDeadlineExceeded
}

// unfinished is a body: it has n bytes, and no more come.
type unfinished struct {
	*connection
	n int
}

func (u *unfinished) Read(b []byte) (int, error) {
	if u.n > 0 {
		n := min(u.n, len(b))
		u.n -= n
		return n, nil
	}
	<-u.over
	return 0, os.ErrDeadlineExceeded
}

const (
	readers = 64
	each    = 1 << 20 // bytes of a value
)

// full is a storage of which 64 clients at addr have asked for all memory, and do
// not read. It must be called in a bubble of synctest.
func full(t *testing.T, addr string) (h http.Handler, held []*connection) {
	t.Helper()
	h = kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Limits: kvhttp.Limits{Body: each, Memory: readers * each}})
	if w := sent(h, addr, "PUT", "/v1/kv/large", strings.Repeat("x", each)); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for range readers {
		c := newConnection(true)
		held = append(held, c)
		go serveFrom(h, c, addr, "GET", "/v1/kv/large", nil)
	}
	t.Cleanup(func() {
		for _, c := range held {
			c.cut()
		}
	})
	synctest.Wait()
	return h, held
}

func serveFrom(h http.Handler, w http.ResponseWriter, addr, method, path string, body io.Reader) {
	r := httptest.NewRequest(method, path, body)
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Fencing-Token", "1")
	h.ServeHTTP(w, r)
}

func sent(h http.Handler, addr, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	serveFrom(h, w, addr, method, path, strings.NewReader(body))
	return w
}

func cutOff(held []*connection) (n int) {
	for _, c := range held {
		select {
		case <-c.over:
			n++
		default:
		}
	}
	return n
}

// TestStalledReadersYield: 64 readers that hold all memory leave room for the bodies
// and answers of others, and no more of them is cut off than has to be.
func TestStalledReadersYield(t *testing.T) {
	for _, addr := range []string{"192.0.2.1", "192.0.2.2"} {
		t.Run(addr, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, held := full(t, "192.0.2.1")
				for i := range 3 {
					if w := sent(h, addr, "PUT", "/v1/kv/mine", strings.Repeat("x", 64<<10)); w.Code != 204 {
						t.Fatalf("body %d: %d %s", i, w.Code, w.Body)
					}
				}
				if w := sent(h, addr, "GET", "/v1/kv/mine", ""); w.Code != 200 {
					t.Errorf("answer: %d %s", w.Code, w.Body)
				}
				if n := cutOff(held); n != 1 {
					t.Errorf("%d were cut off, want 1", n)
				}
			})
		})
	}
}

// TestMemoryHasShares: who has least has room as large as any that is used.
func TestMemoryHasShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, held := full(t, "192.0.2.1")
		large := strings.Repeat("x", each)
		other := newConnection(true)
		defer other.cut()
		go serveFrom(h, other, "192.0.2.2", "GET", "/v1/kv/large", nil)
		synctest.Wait()
		if n := cutOff(held); n != 1 {
			t.Errorf("%d of the client that has all were cut off, want 1", n)
		}
		time.Sleep(50 * time.Millisecond) // none is slow yet
		w := sent(h, "192.0.2.1", "PUT", "/v1/kv/a", large)
		wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 503, kv.LimitMemory, readers*each)
		time.Sleep(time.Second)
		for i := range readers - 1 {
			if w := sent(h, "192.0.2.1", "PUT", fmt.Sprint("/v1/kv/", i), large); w.Code != 204 {
				t.Errorf("in the place of a slow one: %d %s", w.Code, w.Body)
			}
		}
		if cutOff([]*connection{other}) != 0 {
			t.Error("a client that has little was cut off for one that has much")
		}
	})
}

// TestSlowBodiesYield: a body that does not come yields its memory, and is refused
// definitely.
func TestSlowBodiesYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := kv.NewMemory(kv.Options{})
		h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Body: each, Memory: each}})
		slow := newConnection(false)
		defer slow.cut()
		done := make(chan struct{})
		go func() {
			defer close(done)
			serveFrom(h, slow, "192.0.2.1", "PUT", "/v1/kv/slow", &unfinished{slow, each - 1})
		}()
		synctest.Wait()
		if w := sent(h, "192.0.2.2", "PUT", "/v1/kv/mine", strings.Repeat("x", 64<<10)); w.Code != 204 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		<-done
		wantLimit(t, slow.Code, slow.Header(), slow.Body.Bytes(), 503, kv.LimitMemory, each)
		if slow.Header().Get("Connection") != "close" {
			t.Error("the connection stays, with the rest of the body to come")
		}
		if m, err := e.Mark(t.Context(), "slow"); err != nil || m.Token != 0 {
			t.Errorf("the refused write left a mark: %+v, %v", m, err)
		}
	})
}
