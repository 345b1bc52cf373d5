package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

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
	err = l.beginImmediate(ctx)
	for i := 0; i < len(c.Told) && err == nil; i++ {
		e := c.Told[i]
		_, err = l.Run(ctx, statement("item_put"), e.Key, sqlservice.After(e), sqlservice.InJSON(e), time.Now().UnixMicro())
	}
	return now, err == nil, err
}
