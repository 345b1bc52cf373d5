// Package migrations_test has the locks of tools that change a database's schema, as they are, behind a pooler: advisory locks
// of PostgreSQL, which belong to a session of the server, and, as another control, a lock that is a row.
package migrations_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	migrate "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	goose "github.com/pressly/goose/v3/lock"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// lock is the lock of a tool, as one process that migrates a database has it.
type lock interface {
	Lock() error
	Unlock() error
}

// tool is one, and the kind of its lock.
type tool struct {
	name    string
	session bool   // the lock belongs to a session
	tells   bool   // that an unlock has unlocked nothing
	look    string // asks whether somebody has the lock
	lock    func(t *testing.T, db *sql.DB) lock
}

const advisory = "SELECT count(*) > 0 FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND granted AND datname = current_database()"

// tools make their locks.
var tools = []tool{
	{"golang-migrate", true, false, advisory, func(t *testing.T, db *sql.DB) lock {
		driver, err := migrate.WithInstance(db, new(migrate.Config))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { driver.Close() })
		return driver
	}},
	{"goose", true, true, advisory, func(t *testing.T, db *sql.DB) lock {
		locker, err := goose.NewPostgresSessionLocker(goose.WithLockTimeout(1, 10), goose.WithUnlockTimeout(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return session{t.Context(), locker, conn}
	}},
	{"goose-table", false, false, "SELECT locked FROM " + goose.DefaultLockTableName, func(t *testing.T, db *sql.DB) lock {
		locker, err := goose.NewPostgresTableLocker(goose.WithTableLockTimeout(100*time.Millisecond, 100), goose.WithTableUnlockTimeout(time.Second, 1))
		if err != nil {
			t.Fatal(err)
		}
		return table{t.Context(), locker, db}
	}},
}

// session is a locker of goose with its connection.
type session struct {
	ctx    context.Context
	locker goose.SessionLocker
	conn   *sql.Conn
}

func (s session) Lock() error { return s.locker.SessionLock(s.ctx, s.conn) }

func (s session) Unlock() error { return s.locker.SessionUnlock(s.ctx, s.conn) }

// table is a locker of goose whose lock is a row, with its connections.
type table struct {
	ctx    context.Context
	locker goose.Locker
	db     *sql.DB
}

func (r table) Lock() error { return r.locker.Lock(r.ctx, r.db) }

func (r table) Unlock() error { return r.locker.Unlock(r.ctx, r.db) }

// world is a database on a server, and where a tool connects to: to a pooler in transaction mode, or, as the control, to the
// server.
type world struct {
	*testing.T
	tool
	server, at, database string
	shared               bool // the pooler gives the session that has the lock to others
}

// each tells a story with each tool.
func each(t *testing.T, tell func(w world)) {
	postgrestest.NeedPooler(t)
	group := proctest.Group(t)
	server, err := postgresproc.Start(t.Context(), group, postgresproc.Program())
	if err != nil {
		t.Fatal(err)
	}
	pooler, err := postgresproc.StartPooler(t.Context(), group, postgresproc.PoolerProgram(), server.Addr, "transaction", 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, of := range tools {
		for at, addr := range map[string]string{"pooled": pooler.Addr, "direct": server.Addr} {
			t.Run(of.name+"/"+at, func(t *testing.T) {
				w := world{t, of, server.Addr, addr, "postgres", at == "pooled" && of.session}
				database := fmt.Sprint(at, i)
				if _, err := w.open(server.Addr).ExecContext(t.Context(), "CREATE DATABASE "+database); err != nil {
					t.Fatal(err)
				}
				w.database = database
				tell(w)
			})
		}
	}
}

// open is a process's own pool of connections. A pooler in transaction mode may not know statements that pgx has prepared.
func (w world) open(addr string) *sql.DB {
	w.Helper()
	db, err := sql.Open("pgx", "postgres://postgres@"+addr+"/"+w.database+"?sslmode=disable&default_query_exec_mode=exec")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { db.Close() })
	return db
}

// TestTwoAtOnce: the pooler gives a second process the session that has the first one's lock, and both hold it.
func TestTwoAtOnce(t *testing.T) {
	each(t, func(w world) {
		one, two := w.lock(w.T, w.open(w.at)), w.lock(w.T, w.open(w.at))
		if err := one.Lock(); err != nil {
			w.Fatal(err)
		}
		locked := make(chan error, 1)
		go func() { locked <- two.Lock() }()
		wait := sqltest.Deadline
		if !w.shared {
			wait = time.Second / 2 // in which it must not be granted
		}
		select {
		case err := <-locked:
			if !w.shared || err != nil {
				w.Errorf("while the first process has the lock, the second one gets %v", err)
			}
			return
		case <-time.After(wait):
			if w.shared {
				w.Error("the second process waits")
			}
		}
		if err := one.Unlock(); err != nil {
			w.Error(err)
		}
		if err := <-locked; err != nil {
			w.Error(err)
		}
	})
}

// TestStranded: the unlock comes to another session than the lock, which stays.
func TestStranded(t *testing.T) {
	each(t, func(w world) {
		one := w.lock(w.T, w.open(w.at))
		if err := one.Lock(); err != nil {
			w.Fatal(err)
		}
		other, err := w.open(w.at).BeginTx(w.Context(), nil)
		if err != nil {
			w.Fatal(err)
		}
		defer other.Rollback()
		if _, err := other.ExecContext(w.Context(), "SELECT 1"); err != nil { // in the session that was used last
			w.Fatal(err)
		}
		if err, told := one.Unlock(), w.shared && w.tells; (err != nil) != told {
			w.Errorf("the unlock says %v", err)
		}
		var stays bool
		if err := w.open(w.server).QueryRowContext(w.Context(), w.look).Scan(&stays); err != nil {
			w.Fatal(err)
		}
		if stays != w.shared {
			w.Errorf("after the unlock the server has the lock: %v, want %v", stays, w.shared)
		}
	})
}
