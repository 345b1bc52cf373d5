package sqllock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestLawsCatch: with statements that are broken in a known way the laws are not obeyed.
func TestLawsCatch(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		was, is string
		law     string
	}{
		"the token stays": {
			"token = token + 1", "token = token",
			"tokens grow after a release",
		},
		"the row is deleted with its lock": {
			"UPDATE fence_locks\nSET owner = ''", "DELETE FROM fence_locks",
			"tokens grow after a release",
		},
		"a lock that is held is taken": {
			"AND (owner = '' OR expires <= CAST(round(unixepoch('subsec') * 1000) AS integer))", "",
			"a client excludes itself",
		},
		"an unlock frees whoever has the lock": {
			"AND owner = ? AND expires >", "AND ? <> '' AND expires >",
			"a second unlock frees nothing",
		},
		"a renewal renews nothing": {
			"SET expires = CAST(round(unixepoch('subsec') * 1000) AS integer) + ?", "SET expires = max(expires, ?)",
			"a living holder keeps the lock",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait more than they do
			var met atomic.Bool
			rewrite := func(text string) string {
				if strings.Contains(text, broken.was) {
					met.Store(true)
				}
				return strings.Replace(text, broken.was, broken.is, 1)
			}
			d := withTables(t, sqltest.SQLite(t))
			s := locktest.Subject{TTL: ttl / 2, Slack: time.Second}
			s.Open = func(context.Context) (locktest.Client, error) { return openGated(t, d, own(ttl/2), rewrite) }
			err := drivertest.Law(t, broken.law).Check(t.Context(), s)
			if err == nil {
				t.Errorf("the law %q is obeyed", broken.law)
			}
			if !met.Load() {
				t.Errorf("no statement has %q", broken.was)
			}
		})
	}
}
