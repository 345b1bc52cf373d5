package postgres_test

import (
	"os"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
)

// TestGivenUp: a client that has given up has the lock where the database has given it to the
// client. A request that was cancelled gets no grant.
func TestGivenUp(t *testing.T) {
	program(t, "to carry out what was given up")
	s := services.Parse(t, "../../../scenarios/postgres/10-given-up.yaml")[0]
	for i := range s.Variants {
		v := &s.Variants[i]
		t.Run(v.Name, func(t *testing.T) {
			events := labtest.Run(t, s, v, lab.Options{Exe: os.Args[0], Services: services})
			held := slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Kind == history.KindGranted && e.Client == "client2"
			})
			if held != v.Control {
				t.Errorf("client2 has the lock: %v, want %v", held, v.Control)
			}
		})
	}
}
