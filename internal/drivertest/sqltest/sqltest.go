// Package sqltest is for tests on databases: SQLite, which is a library, and real servers of
// PostgreSQL and MariaDB.
package sqltest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
)

// Deadline is for what is sure to happen.
const Deadline = 60 * time.Second

// Main runs a package's tests, whose binary is its own servers and janitor. No goroutine
// may be left.
func Main(m *testing.M) {
	proctest.Play(postgresproc.Command(), mariadbproc.Command(), lab.Janitor())
	// What it would log it returns as well.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Database is one that a test has for itself.
type Database struct {
	Driver string // of database/sql
	Source string // for sql.Open
	// Kill and Restart are those of its server. Those of SQLite, which has none, do
	// nothing.
	Kill    func() error
	Restart func(context.Context) error
}

// Databases make one of each kind, by name. It ends with the test. Where its server is
// missing the test is left out.
func Databases() map[string]func(testing.TB) *Database {
	return map[string]func(testing.TB) *Database{
		"sqlite":   SQLite,
		"postgres": func(t testing.TB) *Database { return Postgres(t) },
		"mariadb":  func(t testing.TB) *Database { return MariaDB(t) },
	}
}

// SQLite is a file. A transaction takes the file's one lock when it begins, and waits for
// it.
func SQLite(t testing.TB) *Database {
	t.Helper()
	return &Database{
		Driver:  "sqlite",
		Source:  "file:" + filepath.Join(t.TempDir(), "test.db") + "?_txlock=immediate&_pragma=busy_timeout(60000)",
		Kill:    func() error { return nil },
		Restart: func(context.Context) error { return nil },
	}
}

// Postgres is a server with some settings, NAME=VALUE.
func Postgres(t testing.TB, settings ...string) *Database {
	t.Helper()
	program := postgresproc.Program()
	if program == "" {
		need.Program(t, "postgres", "to keep something in")
	}
	ctx, cancel := context.WithTimeout(t.Context(), Deadline)
	defer cancel()
	s, err := postgresproc.Start(ctx, proctest.Group(t), program, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return &Database{Driver: "pgx", Source: s.URL(), Kill: s.Kill, Restart: s.Restart}
}

// MariaDB is a server with some settings, NAME=VALUE.
func MariaDB(t testing.TB, settings ...string) *Database {
	t.Helper()
	program := mariadbproc.Program()
	if program == "" {
		need.Program(t, "mariadbd", "to keep something in")
	}
	ctx, cancel := context.WithTimeout(t.Context(), Deadline)
	defer cancel()
	s, err := mariadbproc.Start(ctx, proctest.Group(t), program, settings...)
	if err != nil {
		t.Fatal(err)
	}
	config := s.Config()
	config.DBName = "test"
	d := &Database{Driver: "mysql", Source: config.FormatDSN(), Kill: s.Kill, Restart: s.Restart}
	config.DBName = ""
	if _, err := open(t, d.Driver, config.FormatDSN()).ExecContext(ctx, "CREATE DATABASE test"); err != nil {
		t.Fatal(err)
	}
	return d
}

// Open opens the database once more. It closes with the test.
func (d *Database) Open(t testing.TB) *sql.DB {
	t.Helper()
	return open(t, d.Driver, d.Source)
}

func open(t testing.TB, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
