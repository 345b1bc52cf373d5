package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// file is the path of a database, which each client opens itself.
type file string

var _ sqlservice.Keeping[*link] = file("")

// link is one connection.
type link struct {
	*sql.DB // has no other
	file    file

	begun    bool          // it is in a transaction
	long     time.Duration // for how long it waits for the file's lock; 0 is for ever
	canceled chan struct{} // closed when it is to wait no longer
	waits    atomic.Bool
}

// Name implements sqlservice.Keeping, as those below do.
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

// Connect opens the file.
func (f file) Connect(ctx context.Context, _ string) (*link, error) {
	pool, err := f.Pool("")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(pool)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open %s: %w", f, err)
	}
	return &link{DB: db, file: f, canceled: make(chan struct{})}, nil
}

func (f file) Beside(ctx context.Context) (*link, error) { return f.Connect(ctx, "") }

func (file) HangUp(l *link) { _ = l.Close() }

func (file) Refused(err error) bool { return errors.As(err, new(*sqlite.Error)) }

// Begin leaves the beginning to what is asked first: BEGIN IMMEDIATE takes the file's lock. The wait for the lock is
// this package's, which can be cancelled, and not SQLite's.
func (file) Begin(ctx context.Context, l *link) error {
	_, err := l.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	return err
}

func (file) Commit(ctx context.Context, l *link) error {
	_, err := l.ExecContext(ctx, "COMMIT")
	return err
}

func (file) Hurry(_ context.Context, l *link, long time.Duration) error {
	l.long = long
	return nil
}

func (file) GaveUp(err error) bool {
	var answered *sqlite.Error
	return errors.As(err, &answered) && answered.Code()&0xff == sqlite3.SQLITE_BUSY // the rest says why it is busy
}

func (file) Cancel(_ context.Context, l *link) { close(l.canceled) }

// errCanceled is of a wait that was cancelled.
var errCanceled = errors.New("the wait for the file's lock was cancelled")

func (file) Canceled(err error) bool { return errors.Is(err, errCanceled) }

func (file) Waits(_ context.Context, _, l *link) (bool, error) { return l.waits.Load(), nil }

// Ended is never so: nobody but the client ends what it has in a file.
func (file) Ended(ctx context.Context, _ *link) bool {
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
		_, err := l.ExecContext(ctx, "BEGIN IMMEDIATE")
		if !l.file.GaveUp(err) {
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
