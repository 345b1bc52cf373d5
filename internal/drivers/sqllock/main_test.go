package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

func TestMain(m *testing.M) {
	proctest.SideBySide(5) // with more, leases run out where a database is busy
	sqltest.Main(m)
}

const (
	ttl   = time.Second
	scope = "/lock"
	long  = time.Minute // a TTL for tests in which nothing is to expire
	poll  = 10 * time.Millisecond
)

// dialects are those of the databases, by the names of their drivers.
var dialects = map[string]sqllock.Dialect{"pgx": sqllock.PostgreSQL, "mysql": sqllock.MySQL, "sqlite": sqllock.SQLite}

func dialect(d *sqltest.Database) sqllock.Dialect { return dialects[d.Driver] }

type test struct {
	name string
	test func(*testing.T, *sqltest.Database)
}

// tests are those that each database is put to.
var tests = []test{
	{"create", testCreate},
	{"scopes", testScopes},
	{"row", testRow},
	{"token of 64 bits", testTokenOf64Bits},
	{"trigger", testTrigger},
	{"first use", testFirstUse},
	{"table", testTable},
	{"table without words", testTableWithoutWords},
	{"loss is told", testLossIsTold},
	{"waiters leave the pool alone", testWaitersLeaveThePoolAlone},
	{"waiter is served", testWaiterIsServed},
	{"refusal", testRefusal},
	{"answers lost", testAnswersLost},
	{"request lost", testRequestLost},
	{"closed connection", testClosedConnection},
	{"dead pool", testDeadPool},
	{"cancelled lock", testCancelledLock},
	{"cancelled lock without an answer", testCancelledLockWithoutAnAnswer},
	{"late answer", testLateAnswer},
	{"asked again", testAskedAgain},
	{"ends with its context", testEndsWithItsContext},
	{"serialization", testSerialization},
	{"clock jumps back", testClockJumpsBack},
	{"leases last", testLeasesLast},
	{"extensions take turns", testExtensionsTakeTurns},
	{"late extension", testLateExtension},
}

// serverTests are those of databases that are servers, which Spring knows.
var serverTests = []test{
	{"zones", testZones},
	{"killed server", testKilledServer},
	{"restarted server", testRestartedServer},
	{"nobody listens", testNobodyListens},
	{"spring's row", testSpringRow},
	{"spring's regions", testSpringRegions},
}

// testsOf are those that only some databases are put to, by the names of their drivers.
var testsOf = map[string][]test{
	"pgx":    append(serverTests, test{"notified", testNotified}, test{"notified again", testNotifiedAgain}),
	"mysql":  append(serverTests, test{"rows changed or found", testRowsChangedOrFound}, test{"no commit", testNoCommit}),
	"sqlite": {{"parsed once", testParsedOnce}},
}

// TestDatabases has one database of each kind for all tests.
func TestDatabases(t *testing.T) {
	t.Parallel()
	for name, make := range sqltest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait more than they do
			d := make(t)
			for _, one := range slices.Concat(tests, testsOf[d.Driver]) {
				t.Run(one.name, func(t *testing.T) { one.test(t, withTables(t, d)) })
			}
		})
	}
}

// withTables makes the tables new.
func withTables(t *testing.T, d *sqltest.Database) *sqltest.Database {
	t.Helper()
	db := d.Open(t)
	execute(t, db, "DROP TABLE IF EXISTS fence_locks")
	execute(t, db, "DROP TABLE IF EXISTS INT_LOCK")
	if err := sqllock.Create(t.Context(), db, dialect(d)); err != nil {
		t.Fatal(err)
	}
	if create := sqltest.SpringTables[d.Driver]; create != "" {
		execute(t, db, create)
	}
	return d
}

// with is a database with one more setting of the client's.
func with(d *sqltest.Database, setting string) *sqltest.Database {
	there := *d
	separator := "?"
	if strings.Contains(d.Source, "?") {
		separator = "&"
	}
	there.Source += separator + setting
	return &there
}

func execute(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// number is the one that a statement finds.
func number(t *testing.T, db *sql.DB, statement string) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), statement).Scan(&n); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// schema is where a database has its tables.
func schema(t *testing.T, db *sql.DB, d *sqltest.Database) (name string) {
	t.Helper()
	statement := map[string]string{"pgx": "SELECT current_schema()", "mysql": "SELECT DATABASE()", "sqlite": "SELECT 'main'"}[d.Driver]
	if err := db.QueryRowContext(t.Context(), statement).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// maker makes a backend.
type maker func(*sql.DB, sqllock.Dialect) (*sqllock.Backend, error)

// own is the package's own lock, with a TTL.
func own(ttl time.Duration, some ...sqllock.Option) maker {
	return func(db *sql.DB, d sqllock.Dialect) (*sqllock.Backend, error) {
		return sqllock.New(db, d, ttl, append([]sqllock.Option{sqllock.Poll(poll)}, some...)...)
	}
}

func spring(ttl time.Duration) maker {
	return func(db *sql.DB, d sqllock.Dialect) (*sqllock.Backend, error) {
		return sqllock.Spring(db, d, sqllock.SpringRegion, ttl, sqllock.Poll(poll))
	}
}

// party is one client of a database.
type party struct {
	lock.Backend
	db *sql.DB
}

func join(t *testing.T, d *sqltest.Database, make maker) party {
	t.Helper()
	return on(t, d.Open(t), d, make)
}

func on(t *testing.T, db *sql.DB, d *sqltest.Database, make maker) party {
	t.Helper()
	b, err := make(db, dialect(d))
	if err != nil {
		t.Fatal(err)
	}
	return party{b, db}
}

// take takes a lock that is free. The tenure ends with the test.
func (p party) take(t *testing.T) lock.Tenure {
	t.Helper()
	tenure, err := p.TryLock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, tenure)
	return tenure
}

func endWith(t *testing.T, tenure lock.Tenure) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tenure.Unlock(ctx) // which may be over, or its database gone
	})
}

// result is what a call returned that took a lock in the background.
type result struct {
	tenure lock.Tenure
	err    error
}

func inBackground(ctx context.Context, take func(context.Context, string) (lock.Tenure, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, sqltest.Deadline)
		defer cancel()
		tenure, err := take(ctx, scope)
		c <- result{tenure, err}
	}()
	return c
}

func wantGrant(t *testing.T, c <-chan result) lock.Tenure {
	t.Helper()
	r := <-c
	if r.err != nil {
		t.Fatal(r.err)
	}
	endWith(t, r.tenure)
	return r.tenure
}

func wantUnlock(t *testing.T, tenure lock.Tenure) {
	t.Helper()
	if err := tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p party) wantLocked(t *testing.T) {
	t.Helper()
	if tenure, err := p.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("got %v, %v, want ErrLocked", tenure, err)
	}
}

func wantEnd(t *testing.T, tenure lock.Tenure, want error) {
	t.Helper()
	select {
	case <-tenure.Done():
		if err := tenure.Err(); !errors.Is(err, want) {
			t.Errorf("the tenure ended with %v, want %v", err, want)
		}
	case <-time.After(sqltest.Deadline):
		t.Errorf("Done is open, want %v", want)
	}
}

// linked is a database that is reached by a link of its own.
func linked(d sqltest.Database) (sqltest.Database, *network.Link, error) {
	if d.Driver == "mysql" {
		config, err := mysql.ParseDSN(d.Source)
		if err != nil {
			return d, nil, err
		}
		link, err := network.NewGreeted(config.Addr)
		if err != nil {
			return d, nil, err
		}
		config.Addr = link.Addr()
		d.Source = config.FormatDSN()
		return d, link, nil
	}
	address, err := url.Parse(d.Source)
	if err != nil {
		return d, nil, err
	}
	link, err := network.New(address.Host)
	if err != nil {
		return d, nil, err
	}
	address.Host = link.Addr()
	d.Source = address.String()
	return d, link, nil
}
