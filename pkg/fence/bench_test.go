package fence_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// bare is the least that a service can do by hand: one mutex, one map of marks,
// no scope of its own for the lock, no sequence, no bound.
type bare struct {
	mu    sync.Mutex
	marks map[string]fence.Token
}

func (b *bare) do(c fence.Claim, op func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Token < b.marks[c.Scope] {
		return fence.ErrStale
	}
	b.marks[c.Scope] = c.Token
	return op()
}

// BenchmarkDo compares Register.Do with a bare mutex and map, side by side, at
// growing numbers of scopes. Compare ns/op of the two subbenchmarks of one line.
func BenchmarkDo(b *testing.B) {
	for _, scopes := range []int{1, 1_000, 1_000_000} {
		names := make([]string, scopes)
		for i := range names {
			names[i] = fmt.Sprintf("/locks/%07d", i)
		}
		value := 0
		op := func() error { value++; return nil }
		b.Run(fmt.Sprintf("bare/scopes=%d", scopes), func(b *testing.B) {
			var s bare
			bytes := heapOf(func() {
				s.marks = make(map[string]fence.Token)
				for _, n := range names {
					_ = s.do(fence.Claim{Scope: n, Token: 1}, op)
				}
			})
			benchmarkDo(b, names, bytes, func(c fence.Claim) error { return s.do(c, op) })
		})
		b.Run(fmt.Sprintf("register/scopes=%d", scopes), func(b *testing.B) {
			var r *fence.Register
			bytes := heapOf(func() {
				r = new(fence.Register)
				for _, n := range names {
					_ = r.Do(fence.Claim{Scope: n, Token: 1}, op)
				}
			})
			benchmarkDo(b, names, bytes, func(c fence.Claim) error { return r.Do(c, op) })
		})
	}
}

func benchmarkDo(b *testing.B, names []string, bytes uint64, do func(fence.Claim) error) {
	b.ReportAllocs()
	i, token := 0, fence.Token(2)
	for b.Loop() {
		if err := do(fence.Claim{Scope: names[i], Token: token}); err != nil {
			b.Fatal(err)
		}
		if i += 7919; i >= len(names) {
			i %= len(names)
			token++
		}
	}
	b.ReportMetric(float64(bytes)/float64(len(names)), "B/scope")
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
