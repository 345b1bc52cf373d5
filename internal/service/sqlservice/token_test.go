package sqlservice

import (
	"context"
	"database/sql/driver"
	"testing"
)

// TestHear: who looks at the row for the second time waits, under the owner of the first
// statement, wherever that stands among its arguments.
func TestHear(t *testing.T) {
	for _, first := range [][]driver.NamedValue{
		{{Value: "owner"}, {Value: int64(1000)}, {Value: "/lock"}},
		{{Value: "/lock"}, {Value: int64(1000)}, {Value: "owner"}},
	} {
		var stands []string
		ctx := context.WithValue(t.Context(), hearKey{}, &hearing{lock: "/lock", stands: func(owner string) { stands = append(stands, owner) }})
		hear(ctx, "UPDATE", first)
		for looks, want := range []int{0, 1, 1} {
			hear(ctx, "SELECT", []driver.NamedValue{{Value: "/lock"}})
			if len(stands) != want || want == 1 && stands[0] != "owner" {
				t.Errorf("%v: after %d looks the client stands as %q", first, looks+1, stands)
			}
			hear(ctx, "UPDATE", []driver.NamedValue{{Value: "/lock"}, {Value: "owner"}})
		}
	}
}
