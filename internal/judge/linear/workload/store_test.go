package workload

import (
	"net/http/httptest"
	"testing"

	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// TestOutcomesOfEngines: what may have been done goes into the history as unknown, and nothing
// else does.
func TestOutcomesOfEngines(t *testing.T) {
	for _, fault := range kvtest.Faults() {
		srv := httptest.NewServer(kvhttp.NewHandler(kvtest.Failing{Engine: kv.NewMemory(kv.Options{}), Err: fault.Err}, kvhttp.Options{}))
		s := newStore(srv.URL)
		for _, kind := range []linear.Kind{linear.Read, linear.Write, linear.Delete, linear.Batch} {
			in := linear.Input{Kind: kind, Scope: "/lock", Token: 1, Key: "a", Changes: []linear.Change{{Key: "a", Value: "x"}}}
			if out, _ := s.do(t.Context(), in); (out.Outcome == linear.Unknown) != fault.Unknown {
				t.Errorf("kind %v of an engine that says %v: got %+v, want unknown %v", kind, fault.Err, out, fault.Unknown)
			}
		}
		s.close()
		srv.Close()
	}
}
