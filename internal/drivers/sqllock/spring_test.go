package sqllock_test

import (
	"database/sql"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// testSpringRow: what Spring sees of a lock, and that its row goes.
func testSpringRow(t *testing.T, d *sqltest.Database) {
	a := join(t, d, spring(long))
	tenure := a.take(t)
	var key, region, client string
	err := a.db.QueryRowContext(t.Context(), "SELECT LOCK_KEY, REGION, CLIENT_ID FROM INT_LOCK").Scan(&key, &region, &client)
	if want := "bc0b3af3-c9b4-3d61-b6a6-1baf79043a0a"; err != nil || key != want || region != "DEFAULT" || client != tenure.Grant().Owner {
		t.Errorf("%+v was granted, and the row has %q, %q, %q, %v, want the key %s", tenure.Grant(), key, region, client, err, want)
	}
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK WHERE EXPIRED_AFTER > CREATED_DATE"); n != 1 {
		t.Error("the lock ends before it was taken")
	}
	// Whoever died has left a row behind.
	execute(t, a.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE")
	next := join(t, d, spring(long)).take(t)
	a.wantLocked(t)
	wantUnlock(t, next)
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK"); n != 0 {
		t.Error("the row is there after the unlock")
	}
}

func testSpringRegions(t *testing.T, d *sqltest.Database) {
	a := join(t, d, spring(long))
	b := join(t, d, func(db *sql.DB, d sqllock.Dialect) (*sqllock.Backend, error) {
		return sqllock.Spring(db, d, "other", long)
	})
	a.take(t)
	wantUnlock(t, b.take(t))
	a.wantLocked(t)
	execute(t, a.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE")
	b.take(t)
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK"); n != 2 {
		t.Errorf("there are %d rows, want one for each region", n)
	}
}
