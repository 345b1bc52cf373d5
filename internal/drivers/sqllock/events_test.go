package sqllock_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// eventsTTL is how long leases last while an observer is told of them: they are renewed in time on
// a busy machine, too.
const eventsTTL = 4 * time.Second

// TestEvents: an observer is told of everything, by a lease that is renewed and by one that is
// fixed.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:2] {
		for name, make := range sqltest.Databases() {
			t.Run(k.name+" on "+name, func(t *testing.T) {
				t.Parallel() // they wait more than they do
				d := withTables(t, make(t))
				locktest.Observed{
					Subject: subject(t, d, k, eventsTTL),
					Revoke: func(_ context.Context, g lock.Grant) error {
						db := d.Open(t)
						defer db.Close()
						// As if somebody else had it, who gives it back.
						execute(t, db, "UPDATE fence_locks SET owner = 'another', token = token + 1 WHERE token = "+g.Token.String())
						return nil
					},
				}.Run(t)
			})
		}
	}
}
