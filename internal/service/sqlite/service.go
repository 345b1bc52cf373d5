// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
	"context"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

const Name = "sqlite"

// Service is SQLite. Nothing serves a file, and so nothing is done to it.
func Service() *service.Service {
	d := sqlservice.About{Rules: rules, Recipes: recipes, Open: open, Service: service.Service{
		Service: scenario.Service{Name: Name, Client: clientSettings, Local: true},
		Start:   start,
	}}
	return d.Made().Embed("each run has a file of its own")
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), java.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look, tooOld,
}

func start(_ context.Context, stage service.Stage) (service.Servers, error) {
	return newServers(stage, file(filepath.Join(stage.Group().Dir, "locks.db"))), nil
}

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

var recipes = []*sqlservice.Recipe{&token, &intLock, &intLockDBClock, &immediate, &deferred}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.SQLite)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(func(ctx context.Context, conn sqlservice.Conn) (time.Time, error) {
		var micros int64
		err := conn.Row(ctx, "SELECT CAST(unixepoch('subsec') * 1000 AS integer) * 1000").Scan(&micros)
		return time.UnixMicro(micros), err
	})
)

// immediate has the file's lock, whichever lock it asks for. Its row in the table finished is
// seen when the transaction is over.
var immediate = sqlservice.Recipe{
	ID: "immediate", Shows: sqlservice.NoToken,
	Text: "BEGIN IMMEDIATE; the holder keeps the transaction open. It alone can write to the file, whichever lock it was taken for.",
	Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
		l := conn.(*link)
		if err := l.beginImmediate(ctx); err != nil {
			return err
		}
		if _, err := l.Run(ctx, "INSERT INTO finished VALUES ($1)", a.Owner); err != nil {
			return err
		}
		return tell(ctx, l.file.account(), a, false)
	},
}

// tell tells the account that this process has the file's lock, or only reads. The account is a file of its
// own, as nobody can see what a transaction has not committed. The time is the process's: SQLite's
// has milliseconds.
func tell(ctx context.Context, account file, a *sqlservice.Attempt, reads bool) error {
	l, err := account.open(ctx)
	if err != nil {
		return err
	}
	defer l.HangUp()
	_, err = l.Run(ctx, "INSERT INTO held (name, owner, at, process, session) VALUES ($1, $2, $3, $4, $5)", a.Lock, a.Owner, time.Now().UnixMicro(), os.Getpid(), reads)
	return err
}

// servers are the files of a run. They have this machine's clock.
type servers struct {
	sqlservice.Servers
	file  file
	index *os.File // the shared memory of the run's file, on which SQLite has its locks
}

func newServers(stage service.Stage, f file) *servers {
	s := &servers{file: f}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: f, Observer: s, Address: string(f), Found: found,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
	}
	return s
}

// account is the file beside a run's file that tells of its holders.
func (f file) account() file { return f + "-held.db" }

func (s *servers) Make(ctx context.Context) error {
	for _, f := range []file{s.file, s.file.account()} {
		if err := os.WriteFile(string(f), nil, 0o600); err != nil {
			return err
		}
	}
	if err := s.MakeTables(ctx, token.Dialect, statement("schema")); err != nil {
		return err
	}
	account, err := s.file.account().open(ctx)
	if err != nil {
		return err
	}
	defer account.HangUp()
	_, err = account.Run(ctx, statement("account"))
	return err
}

func (s *servers) Open(ctx context.Context) error {
	for f, to := range map[file]**sqlservice.Link{s.file: &s.Told, s.file.account(): &s.Held} {
		l, err := f.open(ctx)
		if err != nil {
			return err
		}
		*to = l.Link
	}
	if err := s.Round(ctx); err != nil { // the first read makes the shared memory
		return err
	}
	var err error
	s.index, err = os.Open(string(s.file) + "-shm")
	return err
}

// Shut closes the shared memory last: whoever closes it loses all locks that this process has on it.
func (s *servers) Shut() {
	s.Servers.Shut()
	_ = s.index.Close()
}

// goesOn asks whether a transaction goes on: it is not committed, and its process has the lock.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	if t.Transaction == "" {
		return s.readsOn(ctx, t)
	}
	var committed bool
	err = s.Told.Row(ctx, "SELECT EXISTS (SELECT * FROM finished WHERE owner = $1)", t.Owner).Scan(&committed)
	if committed || err != nil {
		return false, err
	}
	// It is the kernel that knows. 0 is nobody.
	writer, err := kernel.Writer(s.index, writeLock)
	if err != nil {
		return false, fmt.Errorf("ask who has the file's lock: %w", err)
	}
	return writer == t.Process, nil
}

// writeLock is the byte of the shared memory that who writes has locked, as SQLite's
// documentation of the WAL-index file says.
const writeLock = 120

// file is the path of a database, which each client opens itself.
type file string

func open(_ string, endpoints []string) (sqlservice.Database, error) {
	if len(endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want the path of one file", endpoints)
	}
	return file(endpoints[0]), nil
}

func (file) Name() string { return Name }

// Pool makes connections that wait for a writer who has the file's lock, up to as long as
// clients wait for an answer. What was committed is with the kernel, and is not synced.
func (f file) Pool(string) (driver.Connector, error) {
	source := url.URL{Scheme: "file", OmitHost: true, Path: string(f), RawQuery: "mode=rw&_time_integer_format=unix_micro" +
		"&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"}
	connector, err := sqlite.NewConnector(source.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f, err)
	}
	return connector, nil
}

func (f file) Connect(ctx context.Context, _ string) (sqlservice.Conn, error) { return f.open(ctx) }

func (f file) Beside(ctx context.Context) (sqlservice.Conn, error) { return f.open(ctx) }

func (f file) open(ctx context.Context) (*link, error) {
	pool, err := f.Pool("")
	if err != nil {
		return nil, err
	}
	l, err := sqlservice.Open(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f, err)
	}
	return &link{Link: l, file: f, canceled: make(chan struct{})}, nil
}

var errCanceled = errors.New("the wait for the file's lock was cancelled")

func (file) Answer(err error) sqlservice.Answer {
	switch answered, is := errors.AsType[*sqlite.Error](err); {
	case errors.Is(err, errCanceled):
		return sqlservice.Canceled
	case !is:
		return sqlservice.Unanswered
	case answered.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return sqlservice.Exists
	case answered.Code()&0xff == sqlite3.SQLITE_BUSY: // the rest says why it is busy
		return sqlservice.GaveUp
	}
	return sqlservice.Refused
}

type link struct {
	*sqlservice.Link
	file file

	begun    bool          // it is in a transaction
	reader   string        // the tenure of deferred; "": none
	again    bool          // a write for which its read is too old is made again
	long     time.Duration // for how long it waits for the file's lock; 0 is for ever
	canceled chan struct{} // closed when it is to wait no longer
	waits    atomic.Bool
}

// Begin leaves the beginning to what is asked first: BEGIN IMMEDIATE takes the file's lock. The
// wait for the lock is this package's, which can be cancelled, and not SQLite's.
func (l *link) Begin(ctx context.Context) error {
	_, err := l.Run(ctx, "PRAGMA busy_timeout = 0")
	return err
}

func (l *link) Hurry(_ context.Context, long time.Duration) error {
	l.long = long
	return nil
}

func (l *link) Cancel(context.Context) { close(l.canceled) }

func (l *link) Waits(context.Context, sqlservice.Conn) (bool, error) { return l.waits.Load(), nil }

// Ended is never so: nobody but the client ends what it has in a file.
func (l *link) Ended(ctx context.Context) bool {
	<-ctx.Done()
	return false
}

// beginImmediate begins a transaction that has the file's lock, unless the connection is in one,
// and waits until no other has the lock.
func (l *link) beginImmediate(ctx context.Context) error {
	if l.begun {
		return nil
	}
	var over <-chan time.Time
	if l.long > 0 {
		over = time.After(l.long)
	}
	for {
		_, err := l.Run(ctx, "BEGIN IMMEDIATE")
		if l.file.Answer(err) != sqlservice.GaveUp {
			l.begun = err == nil
			return err
		}
		l.waits.Store(true)
		select {
		case <-time.After(sqlservice.PollEvery):
		case <-over:
			return err
		case <-l.canceled:
			return errCanceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// found is the statement that finds what a key has.
const found = "SELECT value FROM item WHERE name = $1"

// Find implements sqlservice.Conn. It has the file's lock as a change has: so the account has
// both in the order in which they happened.
func (l *link) Find(ctx context.Context, _, key string, told []history.Event) (value *string, err error) {
	if err := l.beginImmediate(ctx); err != nil {
		return nil, err
	}
	if value, err = sqlservice.ValueOf(l.Row(ctx, found, key)); err != nil {
		return nil, err
	}
	_, err = l.Run(ctx, "INSERT INTO told (kind, content, at) VALUES ($1, $2, $3)",
		sqlservice.ToldDone, sqlservice.InJSON(sqlservice.Told{Events: told, Value: value}), time.Now().UnixMicro())
	return value, err
}

// Change is a statement for each key. No recipe compares anything.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	if err = l.beginImmediate(ctx); err == nil {
		err = l.renewed(ctx, func() error { return l.put(ctx, c.Told) })
	}
	return now, err == nil, err
}

func (l *link) put(ctx context.Context, events []history.Event) error {
	for _, e := range events {
		if _, err := l.Run(ctx, statement("item_put"), e.Key, sqlservice.After(e), sqlservice.InJSON(e), time.Now().UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}
