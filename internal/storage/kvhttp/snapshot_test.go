package kvhttp_test

import (
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

// reader is a client that takes an answer at so many bytes a second.
type reader struct {
	*httptest.ResponseRecorder
	pace int
	over chan struct{} // the deadline has passed

	mu    sync.Mutex
	timer *time.Timer
}

// SetWriteDeadline is for http.ResponseController.
func (r *reader) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil && r.timer.Stop() || r.timer == nil {
		r.timer = time.AfterFunc(time.Until(at), func() { close(r.over) })
	}
	return nil
}

func (r *reader) Write(b []byte) (int, error) {
	select {
	case <-r.over:
		return 0, os.ErrDeadlineExceeded
	case <-time.After(time.Duration(len(b)) * time.Second / time.Duration(r.pace)):
		return r.ResponseRecorder.Write(b)
	}
}

// snapshotTo sends a snapshot to a reader, and says whether all of it came.
func snapshotTo(h http.Handler, pace int) (whole <-chan bool) {
	r := &reader{ResponseRecorder: httptest.NewRecorder(), pace: pace, over: make(chan struct{})}
	done := make(chan bool, 1)
	go func() {
		defer func() { done <- recover() == nil }()
		h.ServeHTTP(r, httptest.NewRequest("GET", "/v1/snapshot", nil))
	}()
	return done
}

// TestSlowSnapshotsYield to another one, and only to that.
func TestSlowSnapshotsYield(t *testing.T) {
	const wait = 10 * time.Second
	for _, tt := range []struct {
		name   string
		pace   int // of the first client, in bytes a second
		yields bool
	}{
		{"takes nothing", 1, true},
		{"takes a piece before each deadline", 64 << 10 / 29, true},
		{"is slow", 128 << 10, true},
		{"is not slow", 320 << 10, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})
				for i := range 128 {
					call(h, "PUT", "/v1/kv/"+strings.Repeat("k", i+1), strings.Repeat("x", 64<<10), "Fencing-Token", "1")
				}
				first := snapshotTo(h, tt.pace)
				time.Sleep(time.Second)
				w := call(h, "GET", "/v1/snapshot", "")
				wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 503, kv.LimitSnapshots, 1) // nobody is slow after a second
				time.Sleep(wait)
				if w := call(h, "GET", "/v1/snapshot", ""); (w.Code == 200) != tt.yields {
					t.Errorf("after %v another client gets %d %.100s", wait, w.Code, w.Body)
				}
				if whole := <-first; whole == tt.yields {
					t.Errorf("the first client has a whole snapshot: %v", whole)
				}
				if w := call(h, "GET", "/v1/snapshot", ""); w.Code != 200 {
					t.Errorf("at the end: %d %.100s", w.Code, w.Body)
				}
			})
		})
	}
}

// TestSlowSnapshotsMayTakeTheirTime while nobody else asks.
func TestSlowSnapshotsMayTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})
		for i := range 16 {
			call(h, "PUT", "/v1/kv/"+strings.Repeat("k", i+1), strings.Repeat("x", 64<<10), "Fencing-Token", "1")
		}
		if !<-snapshotTo(h, 64<<10/20) {
			t.Error("a slow client's snapshot was broken off")
		}
	})
}
