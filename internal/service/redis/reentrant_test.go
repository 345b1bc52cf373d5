package redis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// TestLostOnce: a client that took its lock again is told once that the tenure is over.
func TestLostOnce(t *testing.T) {
	of, _ := at(t, "embedded")
	s := services.Parse(t, "testdata/reentry.yaml")[0]
	v := variant(t, s, "lost")
	lost := 0
	for _, e := range run(t, s, v, of, nil) {
		if e.Kind == history.KindLost {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("client1 was told %d times", lost)
	}
}

// TestNoInnerUnlockIsBegun: one that was begun would be a release by all accounts.
func TestNoInnerUnlockIsBegun(t *testing.T) {
	of, _ := at(t, "embedded")
	file := filepath.Join(t.TempDir(), "t.yaml")
	story := `title: t
world:
  redis: {}
clients:
  client1: {lock: /l, by: redislock-reentrant}
steps:
  - client1: lock
  - client1: lock
  - client1: begin unlock
variants:
  v:
    expect: {verdict: safe}
`
	if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
		t.Fatal(err)
	}
	s := services.Parse(t, file)[0]
	_, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Exe: os.Args[0], Services: []*service.Service{of}})
	if err == nil || !strings.Contains(err.Error(), "it was taken again") {
		t.Errorf("begin unlock: %v", err)
	}
}

func variant(t *testing.T, s *scenario.Scenario, name string) *scenario.Variant {
	t.Helper()
	for i := range s.Variants {
		if s.Variants[i].Name == name {
			return &s.Variants[i]
		}
	}
	t.Fatalf("%s has no variant %s", s.Name, name)
	return nil
}
