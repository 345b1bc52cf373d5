package fence_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestStaleSaysTheTruth: a store that refuses what differs does not have the error
// call a newer token older.
func TestStaleSaysTheTruth(t *testing.T) {
	unnamed := &fence.StaleError{Scope: "/a", Token: 3}
	if want := `fence: stale token: 3 in scope "/a" is older than the highest admitted`; unnamed.Error() != want {
		t.Errorf("of a store that does not name its mark: got %q, want %q", unnamed, want)
	}
	for token, want := range map[fence.Token]string{3: "3 in scope \"/a\" is older than the highest admitted, 5", 9: "9 in scope \"/a\" differs from the last admitted, 5"} {
		err := &fence.StaleError{Scope: "/a", Token: token, Mark: 5}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
