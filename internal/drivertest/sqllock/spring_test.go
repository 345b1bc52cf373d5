package sqllock_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/drivertest/javapeer"
	"github.com/fencelab/fencelab/internal/drivertest/sqltest"
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

// TestSpring: locks of Spring's own JdbcLockRegistry, in Java, and ours exclude each other on
// each database that Spring knows, also where Java has another time zone.
func TestSpring(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo") // of Java
	folder := filepath.Join("testdata", "spring")
	libraries := javapeer.Libraries(t, folder, "Spring's JdbcLockRegistry")
	for name, source := range map[string]func(*testing.T, *sqltest.Database) string{"postgres": jdbcPostgres, "mariadb": jdbcMariaDB} {
		t.Run(name, func(t *testing.T) {
			d := withTables(t, sqltest.Databases()[name](t))
			exclude(t, javapeer.Start(t, folder, libraries, source(t, d), scope), join(t, d, spring(sqllock.SpringTTL)))
		})
	}
}

// exclude has Java's lock and ours exclude each other.
func exclude(t *testing.T, java *javapeer.Peer, ours party) {
	t.Helper()
	java.Do(t, "try", "locked")
	ours.wantLocked(t)
	waiting := inBackground(t.Context(), ours.Lock)
	java.Do(t, "unlock", "unlocked")
	holder := wantGrant(t, waiting)

	java.Do(t, "try", "refused")
	java.Send(t, "lock")
	wantUnlock(t, holder)
	java.Want(t, "locked")
	ours.wantLocked(t)
	java.Do(t, "unlock", "unlocked")
	wantUnlock(t, ours.take(t))

	t.Run("expired", func(t *testing.T) {
		expire := func() { execute(t, ours.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE") }
		java.Do(t, "try", "locked")
		expire()
		holder := ours.take(t)
		java.Do(t, "unlock", "lost")
		ours.wantLocked(t)
		expire()
		java.Do(t, "try", "locked")
		if err := holder.Unlock(t.Context()); err == nil {
			t.Error("a late Unlock frees the lock of Java")
		}
		ours.wantLocked(t)
		java.Do(t, "unlock", "unlocked")
	})
}

// jdbcPostgres is what Java calls a database in PostgreSQL.
func jdbcPostgres(t *testing.T, d *sqltest.Database) string {
	t.Helper()
	server, err := url.Parse(d.Source)
	if err != nil {
		t.Fatal(err)
	}
	return "jdbc:postgresql://" + server.Host + server.Path +
		"?user=" + server.User.Username() + "&currentSchema=" + schema(t, d.Open(t), d)
}

// jdbcMariaDB is what Java calls one in MariaDB.
func jdbcMariaDB(t *testing.T, d *sqltest.Database) string {
	t.Helper()
	config, err := mysql.ParseDSN(d.Source)
	if err != nil {
		t.Fatal(err)
	}
	return "jdbc:mariadb://" + config.Addr + "/" + config.DBName + "?user=" + config.User
}
