package fence_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// bare is the least that a service can do by hand: one mutex, one map of marks,
// no scope of its own for the lock, no sequence, no bound.
type bare struct {
	mu    sync.Mutex
	marks map[string]fence.Token
}

func (b *bare) do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Token < b.marks[c.Scope] {
		return fence.ErrStale
	}
	b.marks[c.Scope] = c.Token
	return op(ctx)
}

// BenchmarkDo compares Register.Do with a bare mutex and map at growing numbers
// of scopes, the two in turns, so that whatever else the machine does hits both.
// The metric of-bare is the Register's time as a multiple of the other's.
func BenchmarkDo(b *testing.B) {
	for _, scopes := range []int{1, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("scopes=%d", scopes), func(b *testing.B) {
			names := make([]string, scopes)
			for i := range names {
				names[i] = fmt.Sprintf("/locks/%07d", i)
			}
			value := 0
			op := func(context.Context) error { value++; return nil }
			s := bare{marks: make(map[string]fence.Token)}
			r := new(fence.Register)
			bareBytes := heapOf(func() { visit(b, names, 0, scopes, 1, s.do, op) })
			ourBytes := heapOf(func() { visit(b, names, 0, scopes, 1, r.Do, op) })

			const turn = 100_000
			var tookBare, tookOurs time.Duration
			done := 0
			b.ReportAllocs()
			for b.Loop() {
				token := fence.Token(done/turn + 2)
				tookBare += visit(b, names, done, turn, token, s.do, op)
				tookOurs += visit(b, names, done, turn, token, r.Do, op)
				done += turn
			}
			b.ReportMetric(float64(tookOurs)/float64(tookBare), "of-bare")
			b.ReportMetric(float64(tookBare.Nanoseconds())/float64(done), "bare-ns/do")
			b.ReportMetric(float64(tookOurs.Nanoseconds())/float64(done), "register-ns/do")
			b.ReportMetric(float64(bareBytes)/float64(scopes), "bare-B/scope")
			b.ReportMetric(float64(ourBytes)/float64(scopes), "register-B/scope")
			b.ReportMetric(0, "ns/op") // of a turn of both: means nothing
		})
	}
}

type doFunc = func(context.Context, fence.Claim, func(context.Context) error) error

// visit does n claims, of scopes in an order that no cache likes, and says how
// long they took.
func visit(b *testing.B, names []string, from, n int, t fence.Token, do doFunc, op func(context.Context) error) time.Duration {
	start := time.Now()
	for i := range n {
		if err := do(b.Context(), fence.Claim{Scope: names[(from+i)*7919%len(names)], Token: t}, op); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// heapOf returns by how many bytes the live heap grows with fill.
func heapOf(fill func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fill()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
}
