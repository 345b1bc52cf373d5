package sqllock_test

import (
	"context"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/eventtest"
	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock"
)

// TestEvents: an observer is told of everything, by a lease that is renewed and by one that is
// fixed.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:2] {
		for name, make := range sqltest.Databases() {
			t.Run(k.name+" on "+name, func(t *testing.T) {
				t.Parallel() // they wait more than they do
				d := withTables(t, make(t))
				eventtest.Story{
					Subject: subject(t, d, k, eventtest.TTL),
					Revoke: func(_ context.Context, g lock.Grant) error {
						db := d.Open(t)
						defer db.Close()
						// As if somebody else had it, who gives it back.
						execute(t, db, "UPDATE fence_locks SET owner = 'another', token = token + 1 WHERE token = "+g.Token.String())
						return nil
					},
				}.Tell(t)
			})
		}
	}
}
