package e2e

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// historyOf is what 16 clients make of an engine behind HTTP.
func historyOf(t *testing.T, e kv.Engine, attempts int) []linear.Op {
	srv := httptest.NewServer(kvhttp.NewHandler(e, kvhttp.Options{}))
	defer srv.Close()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l := startWorkload(workloadConfig{URLs: []string{srv.URL}, Clients: 16, Seed: seed, Timeout: patience})
	err := l.Await(ctx, attempts)
	ops, _ := l.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func TestWorkloadOnMemory(t *testing.T) {
	t.Parallel()
	ops := historyOf(t, kv.NewMemory(kv.Options{}), 5000)
	// A history in which something never comes about would show little.
	met := map[linear.Outcome]int{}
	for _, op := range ops {
		met[op.Output.Outcome]++
	}
	t.Log(len(ops), "operations:", met)
	for _, o := range []linear.Outcome{linear.Done, linear.NotFound, linear.Duplicate, linear.Stale, linear.Missing, linear.Invalid} {
		if met[o] == 0 {
			t.Errorf("no operation was %s", o)
		}
	}
	if met[linear.Unknown] != 0 {
		t.Errorf("%d operations of an unknown outcome", met[linear.Unknown])
	}
	if v := linear.Check(ops, patience); v != linear.Linearizable {
		t.Errorf("%s", v)
	}
}

// broken engines, each wrong in one way that must be found.
type broken struct {
	kv.Engine
	mu    sync.Mutex
	count int
	seen  atomic.Int64 // operations
	gap   sync.Mutex   // held between two halves
	last  map[string]kv.Item
	wrong func(b *broken, ctx context.Context, req kv.Request, ops []kv.Op) error
	reads func(b *broken, ctx context.Context, req kv.Request, key string) (kv.Item, error)
}

func (b *broken) Write(ctx context.Context, req kv.Request, ops ...kv.Op) error {
	b.seen.Add(1)
	if b.wrong != nil && (len(ops) > 1 || b.turn()) {
		return b.wrong(b, ctx, req, ops)
	}
	return b.Engine.Write(ctx, req, ops...)
}

func (b *broken) Read(ctx context.Context, req kv.Request, key string) (kv.Item, error) {
	b.seen.Add(1)
	if b.reads != nil {
		return b.reads(b, ctx, req, key)
	}
	return b.Engine.Read(ctx, req, key)
}

// turn is whether it is time to be wrong: every tenth time.
func (b *broken) turn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	return b.count%10 == 0
}

// letOthersIn waits until others have come in between, or no more come.
func (b *broken) letOthersIn() {
	for start, end := b.seen.Load(), time.Now().Add(time.Second); b.seen.Load() < start+50 && time.Now().Before(end); {
		runtime.Gosched()
	}
}

func TestBrokenEnginesAreFound(t *testing.T) {
	need.Time(t, "to judge thousands of requests")
	t.Parallel()
	for name, e := range map[string]func() kv.Engine{
		"fencing off": func() kv.Engine { return kv.NewMemory(kv.Options{Unfenced: true}) },
		"a write is acknowledged and lost": func() kv.Engine {
			return &broken{Engine: kv.NewMemory(kv.Options{}), wrong: func(b *broken, ctx context.Context, req kv.Request, ops []kv.Op) error {
				return b.Engine.Write(ctx, req) // the mark, and no data
			}}
		},
		"a batch in two halves": func() kv.Engine {
			return &broken{Engine: kv.NewMemory(kv.Options{}), wrong: func(b *broken, ctx context.Context, req kv.Request, ops []kv.Op) error {
				if len(ops) == 1 || !b.gap.TryLock() {
					return b.Engine.Write(ctx, req, ops...)
				}
				defer b.gap.Unlock()
				if err := b.Engine.Write(ctx, req, ops[0]); err != nil {
					return err
				}
				b.letOthersIn()
				req.Sequence = 0
				_ = b.Engine.Write(ctx, req, ops[1:]...)
				return nil
			}}
		},
		"a read does not raise the mark": func() kv.Engine {
			return &broken{Engine: kv.NewMemory(kv.Options{}), reads: func(b *broken, ctx context.Context, req kv.Request, key string) (kv.Item, error) {
				m, _ := b.Mark(ctx, req.Scope)
				if req.Token > m.Token {
					req.Token = 0
				}
				return b.Engine.Read(ctx, req, key)
			}}
		},
		"a read from a cache": func() kv.Engine {
			return &broken{Engine: kv.NewMemory(kv.Options{}), last: map[string]kv.Item{}, reads: func(b *broken, ctx context.Context, req kv.Request, key string) (kv.Item, error) {
				item, err := b.Engine.Read(ctx, req, key)
				b.mu.Lock()
				defer b.mu.Unlock()
				if err != nil {
					return item, err
				}
				old, ok := b.last[key]
				b.last[key] = item
				if ok {
					return old, nil
				}
				return item, nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ops := historyOf(t, e(), 2000)
			if v := linear.Check(ops, patience); v != linear.NotLinearizable {
				t.Errorf("%d operations: %s", len(ops), v)
			}
		})
	}
}
