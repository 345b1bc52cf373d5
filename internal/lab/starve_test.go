package lab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
)

// TestStarvation: who lacked a processor for a quarter of a second is told of, and nobody else.
func TestStarvation(t *testing.T) {
	now := time.Unix(100, 0)
	lacked := map[string]time.Duration{"client1": 249 * time.Millisecond, "client2": 250 * time.Millisecond, "redis": 3 * time.Second}
	want := []history.Event{
		{At: 100 * time.Second, Lane: "client2", Kind: history.KindStarved, Took: 250 * time.Millisecond},
		{At: 100 * time.Second, Lane: "redis", Kind: history.KindStarved, Took: time.Second},
	}
	if diff := cmp.Diff(want, starvation(now, 1100*time.Millisecond, lacked)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if events := starvation(now, 200*time.Millisecond, lacked); events != nil {
		t.Errorf("within less than a quarter of a second: %v", events)
	}
}
