package sqllock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// anHourAgo is the clock of a database in a statement, an hour behind.
var anHourAgo = strings.NewReplacer(
	"clock_timestamp()", "(clock_timestamp() - interval '1 hour')",
	"UTC_TIMESTAMP(6)", "(UTC_TIMESTAMP(6) - INTERVAL 1 HOUR)",
	"unixepoch('subsec')", "(unixepoch('subsec') - 3600)",
)

// testClockJumpsBack: the clock of the database is set back by an hour, for all its clients. Who
// lives keeps the lock and gives it back. Who has died keeps it for the hour.
func testClockJumpsBack(t *testing.T, d *sqltest.Database) {
	jump := make(chan struct{})
	rewrite := func(statement string) string {
		select {
		case <-jump:
			return anHourAgo.Replace(statement)
		default:
			return statement
		}
	}
	open := func(ttl time.Duration) (party, *gate) {
		db, g := openBy(t, d)
		g.rewrite = rewrite
		return on(t, db, d, own(ttl)), g
	}
	const lease = 5 * ttl
	a, _ := open(lease)
	dead, g := open(ttl)
	holder := a.take(t)
	died, err := dead.TryLock(t.Context(), "/died")
	if err != nil {
		t.Fatal(err)
	}
	g.crash()
	defer g.wake()
	close(jump)

	b, _ := open(lease)
	for left := time.Hour; left > lease; { // until the holder has renewed it by the new time
		state, err := b.Backend.(lock.Inspector).Inspect(t.Context(), scope)
		if err != nil || len(state.Holders) != 1 {
			t.Fatalf("Inspect tells of %+v, %v; want a holder", state, err)
		}
		left = state.Holders[0].Left
	}
	b.wantLocked(t)
	wantUnlock(t, holder)
	next := b.take(t)
	if next.Grant().Token <= holder.Grant().Token {
		t.Errorf("%+v was granted after %+v", next.Grant(), holder.Grant())
	}
	wantEnd(t, died, lock.ErrCutOff)
	if _, err := b.TryLock(t.Context(), "/died"); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("the lock of a holder that died: %v, want ErrLocked", err)
	}
}

// testLeasesLast: nobody gets the lock before the time that a holder is told, however coarse the
// database's clock is. One in some leases ends just after the clock has ticked.
func testLeasesLast(t *testing.T, d *sqltest.Database) {
	const lease, leases = 20 * time.Millisecond, 30
	db := d.Open(t)
	p := on(t, db, d, own(lease, sqllock.FixedLease()))
	var until time.Time // of the last lease
	for seen := 0; seen < leases; {
		next, err := p.TryLock(t.Context(), scope)
		if err != nil { // it is held, or the answer came after the lease
			continue
		}
		if now := time.Now(); now.Before(until) {
			t.Fatalf("%+v was granted %v before the end of a lease of %v", next.Grant(), until.Sub(now), lease)
		}
		until = next.(lock.Expirer).Until()
		seen++
	}
}
