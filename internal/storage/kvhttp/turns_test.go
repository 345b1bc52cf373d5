package kvhttp_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// busy is an engine that has much to do for each batch, until it is let go.
type busy struct {
	kv.Engine
	batches atomic.Int64 // that it works on
	on      chan struct{}
}

func (b *busy) Write(ctx context.Context, req kv.Request, ops ...kv.Op) error {
	if len(ops) > 1 {
		b.batches.Add(1)
		<-b.on
	}
	return b.Engine.Write(ctx, req, ops...)
}

// TestBatchesTakeTurns: 64 batches leave one processor to others. Where the engine
// only waits, all are under way.
func TestBatchesTakeTurns(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := &busy{Engine: kv.NewMemory(kv.Options{}), on: make(chan struct{})}
			h := kvhttp.NewHandler(e, kvhttp.Options{EngineWaits: waits})
			var batches sync.WaitGroup
			for range 64 {
				batches.Go(func() {
					w := call(h, http.MethodPost, "/v1/batch", `{"ops":[{"op":"delete","key":"a"},{"op":"delete","key":"b"}]}`,
						"Fencing-Token", "1", "Fencing-Scope", "/lock"+t.Name())
					if w.Code != 204 {
						t.Errorf("a batch: %d %s", w.Code, w.Body)
					}
				})
			}
			synctest.Wait()
			want := int64(max(1, runtime.GOMAXPROCS(0)-1))
			if waits {
				want = 64
			}
			if n := e.batches.Load(); n != want {
				t.Errorf("waits %v: %d batches are under way, want %d", waits, n, want)
			}
			if w := call(h, http.MethodPut, "/v1/kv/c", "value", "Fencing-Token", "1"); w.Code != 204 {
				t.Errorf("a write beside them: %d %s", w.Code, w.Body)
			}
			close(e.on)
			batches.Wait()
		})
	}
}

// TestStalledReadersHoldNoTurn: who does not read the answer to a large request keeps
// no other large one waiting.
func TestStalledReadersHoldNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})
		large := strings.Repeat("x", 64<<10)
		for range runtime.GOMAXPROCS(0) {
			c := newConnection(true)
			defer c.cut()
			go serveFrom(h, c, "192.0.2.1", "POST", "/", strings.NewReader(`{"op":"write","key":"a","version":1,"val":"`+large+`"}`))
		}
		synctest.Wait()
		if w := sent(h, "192.0.2.1", "PUT", "/v1/kv/b", large); w.Code != 204 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
