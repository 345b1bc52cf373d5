// Package sqltest is for tests on databases: SQLite, which is a library, and real servers of
// PostgreSQL and MariaDB.
package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Deadline is for what is sure to happen.
const Deadline = 2 * time.Minute

// Main runs a package's tests, whose binary is its own servers and janitor. No goroutine may be left.
func Main(m *testing.M) {
	proctest.Play(postgresproc.Command(), mariadbproc.Command(), proc.Janitor())
	// What it would log it returns as well.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Database is one that a test has for itself.
type Database struct {
	Driver string // of database/sql
	Source string // for sql.Open; Restart can change it
	// Kill and Restart are those of its server.
	Kill    func() error
	Restart func(context.Context) error
	// Another makes an empty one on the same server.
	Another func(context.Context) (*Database, error)
}

// Databases make one of each kind, by name. It ends with the test. Where its server is
// missing the test is left out.
func Databases() map[string]func(testing.TB) *Database {
	return map[string]func(testing.TB) *Database{
		"sqlite":   SQLite,
		"postgres": Postgres,
		"mariadb":  MariaDB,
	}
}

func Postgres(t testing.TB) *Database {
	t.Helper()
	s := started(t, "postgres", postgresproc.Program(), postgresproc.Start)
	server := Database{Driver: "pgx", Source: s.URL(), Kill: s.Kill, Restart: s.Restart}
	return server.withOthers(t, "CREATE SCHEMA %s", func(name string) string { return s.URL() + "&search_path=" + name })
}

func MariaDB(t testing.TB) *Database {
	t.Helper()
	s := started(t, "mariadbd", mariadbproc.Program(), mariadbproc.Start)
	server := Database{Driver: "mysql", Source: s.Config().FormatDSN(), Kill: s.Kill, Restart: s.Restart}
	return server.withOthers(t, "CREATE DATABASE %s", func(name string) string {
		config := s.Config()
		config.DBName = name
		return config.FormatDSN()
	})
}

// started starts a server. Where its program is missing the test is left out.
func started[S any](t testing.TB, name, program string, start func(context.Context, *proc.Group, string, ...string) (S, error)) S {
	t.Helper()
	if program == "" {
		need.Program(t, name, "to keep something in")
	}
	return proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) (S, error) { return start(ctx, g, program) })
}

// withOthers is a database of a server, which makes others by a statement.
func (d Database) withOthers(t testing.TB, statement string, source func(name string) string) *Database {
	t.Helper()
	db := open(t, d.Driver, d.Source)
	db.SetMaxIdleConns(0) // it may be killed in between
	made := 0
	d.Another = func(ctx context.Context) (*Database, error) {
		made++
		name := fmt.Sprintf("test%d", made)
		other := d
		other.Source = source(name)
		_, err := db.ExecContext(ctx, fmt.Sprintf(statement, name))
		return &other, err
	}
	one, err := d.Another(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// SpringTables are the statements that make the table of Spring's locks, by driver: Spring's
// own, but for their form.
var SpringTables = map[string]string{
	"pgx": `CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),
		CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP NOT NULL, PRIMARY KEY (LOCK_KEY, REGION))`,
	"mysql": `CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),
		CREATED_DATE DATETIME(6) NOT NULL, EXPIRED_AFTER DATETIME(6) NOT NULL, PRIMARY KEY (LOCK_KEY, REGION)) ENGINE=InnoDB`,
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

// SQLite is a file. A transaction takes the file's one lock for writers when it begins, and
// waits for it.
//
// A kill of its process leaves what is in the files, and loses what is not there yet. So Kill
// copies them as they are, and after Restart the copy is the database: the one that was
// copied from need not end for that.
func SQLite(t testing.TB) *Database {
	next := func() string { return filepath.Join(t.TempDir(), "test.db") }
	path, copied := next(), ""
	d := &Database{Driver: "sqlite", Source: sourceOf(path)}
	d.Kill = func() error {
		copied = next()
		return copyFiles(path, copied)
	}
	d.Restart = func(context.Context) error {
		path, d.Source = copied, sourceOf(copied)
		return nil
	}
	d.Another = func(context.Context) (*Database, error) { return SQLite(t), nil }
	return d
}

// sourceOf has the settings of a service. It does not sync: what was committed is with the
// kernel, and survives the process.
func sourceOf(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
}

func copyFiles(from, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(to+suffix, b, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
