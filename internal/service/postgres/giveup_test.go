package postgres_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
)

// TestGivenUp: a grant to a client that has given up is told of, and nobody holds the lock by
// it. A request that was cancelled gets no grant.
func TestGivenUp(t *testing.T) {
	program(t, "to carry out what was given up")
	s := parse(t, "../../../scenarios/postgres/10-given-up.yaml")[0]
	for i := range s.Variants {
		v := &s.Variants[i]
		t.Run(v.Name, func(t *testing.T) {
			events := labtest.Run(t, s, v, lab.Options{Exe: os.Args[0], Services: services})
			told := slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Kind == history.KindNote && strings.HasSuffix(e.Text, " is granted to client2, which has given up and does not know")
			})
			held := slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Kind == history.KindGranted && e.Client == "client2"
			})
			if told != v.Control || held {
				t.Errorf("the grant to client2 is told of: %v, want %v; client2 holds the lock: %v, want false", told, v.Control, held)
			}
		})
	}
}
