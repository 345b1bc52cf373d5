package kvhttp

import (
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// BenchmarkCount is what counting costs a request.
func BenchmarkCount(b *testing.B) {
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"ok", nil},
		{"stale", &fence.StaleError{Scope: "/lock", Token: 33, Mark: 34}},
		{"not_found", kv.ErrNotFound},
	} {
		b.Run(tt.name, func(b *testing.B) {
			m := NewMetrics()
			at := &route{counts: m.route(pathKV, []string{"PUT"})}
			b.ReportAllocs()
			for b.Loop() {
				m.count(at, "PUT", outcome(tt.err), tt.err, 70*time.Microsecond)
			}
		})
	}
}
