package sqlservice

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// Database is how a client reaches one.
type Database interface {
	Name() string
	// Connect connects to where a lock is.
	Connect(ctx context.Context, lock string) (Conn, error)
	// Beside connects to where no lock is, and past a pooler if there is one.
	Beside(ctx context.Context) (Conn, error)
	// Pool makes the connections of a pool to where a lock is.
	Pool(lock string) (driver.Connector, error)
	// Answer is what an error of its connections says.
	Answer(err error) Answer
}

// Answer is a database's own answer to a request, which had no effect then.
type Answer int

const (
	Unanswered Answer = iota // or there was no error
	Refused
	GaveUp     // the request has waited for a lock for too long
	Canceled   // the request was cancelled
	Exists     // there is a row of the same key
	Deadlocked // the request was the victim of a deadlock: it can be made again
)

// Conn is a connection. $1 is the first argument of its statements.
type Conn interface {
	// Run runs a statement, and reports whether it changed a row.
	Run(ctx context.Context, statement string, args ...any) (changed bool, err error)
	// Row runs a statement that finds one row; without one the error is sql.ErrNoRows.
	Row(ctx context.Context, statement string, args ...any) Row
	// HangUp closes the connection, whatever state it is in. What it had ends.
	HangUp()

	// Begin begins a transaction. "COMMIT" ends it.
	Begin(ctx context.Context) error
	// Hurry has requests give up that wait for a lock for so long, until the transaction
	// ends if there is one; 0: for as long as by default.
	Hurry(ctx context.Context, long time.Duration) error
	// Cancel has a request cancelled that waits.
	Cancel(ctx context.Context)
	// Waits asks by a connection from Beside whether this one waits for a lock.
	Waits(ctx context.Context, by Conn) (bool, error)
	// Ended waits until the connection has ended, or ctx is done, and reports which.
	Ended(ctx context.Context) bool

	// Find reads a key of the data under a lock, in a transaction that was begun before. The
	// value is nil where there is none. The account is told of the request, which told is.
	// Where the lock has no row for its data the error is sql.ErrNoRows, as that of Change.
	Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error)
	// Change makes a change in such a transaction, all of it or nothing. now is the row as the change
	// has made it or, where it compares the row and makes nothing, as the change has found it.
	Change(ctx context.Context, c *Change) (now Seen, made bool, err error)
}

type Row interface{ Scan(to ...any) error }

// ValueOf is the value in a row; nil: there is none.
func ValueOf(row Row) (value *string, err error) {
	if err = row.Scan(&value); errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Statements are those in the folder sql, each by the name of its file. They are part of the
// program: it panics without one.
func Statements(files embed.FS) func(name string) string {
	return func(name string) string {
		text, err := files.ReadFile("sql/" + name + ".sql")
		if err != nil {
			panic(err)
		}
		return string(text)
	}
}

//go:embed sql/*.sql
var files embed.FS

var statement = Statements(files)

// DatabaseOf is the database that has a lock: the one that is called as the prefix of the
// run's locks, where there is a prefix.
func DatabaseOf(lock string) string { return strings.TrimPrefix(service.PrefixOf(lock), "/") }

// Link is a connection of database/sql, by a driver that knows only ? in statements.
type Link struct {
	*sql.Conn
	db *sql.DB
}

func Open(ctx context.Context, connector driver.Connector) (*Link, error) {
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &Link{conn, db}, nil
}

func (l *Link) HangUp() {
	_ = l.Conn.Close()
	_ = l.db.Close()
}

func (l *Link) Run(ctx context.Context, statement string, args ...any) (bool, error) {
	positional, inOrder := positional(statement, args)
	result, err := l.ExecContext(ctx, positional, inOrder...)
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

func (l *Link) Row(ctx context.Context, statement string, args ...any) Row {
	positional, inOrder := positional(statement, args)
	return l.QueryRowContext(ctx, positional, inOrder...)
}

var numbered = regexp.MustCompile(`\$\d`)

// positional has a ? for each $1, and the arguments in the order of these.
func positional(statement string, args []any) (string, []any) {
	var inOrder []any
	statement = numbered.ReplaceAllStringFunc(statement, func(parameter string) string {
		n, _ := strconv.Atoi(parameter[1:])
		inOrder = append(inOrder, args[n-1])
		return "?"
	})
	return statement, inOrder
}

// Tables are those by which a database tells what happens. Triggers and clients write into the
// table told, in the transaction in which it happens; into the table held who has taken a lock
// by a connection, at once.
type Tables struct {
	Told, Held *Link // the connections by which each is read

	seen map[int64]bool // numbers in told
	last int64          // that of the last holder
}

type line struct {
	number int64
	kind   string
	Told
}

// Skip takes what tables say by now for what the account knows already.
func (t *Tables) Skip(ctx context.Context) error {
	lines, err := t.read(ctx)
	for _, l := range lines {
		t.seen[l.number] = true
	}
	_, failed := t.holders(ctx)
	return errors.Join(err, failed)
}

// Round has the account of an Observer that reads tables take in what is new: the locks that
// connections have taken, then what rows say, and then what happened to the data. What is read together is there together: the
// grant is there under which something happened to the data.
func (s *Servers) Round(ctx context.Context) error {
	s.Account.Asking()
	lines, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("read what was told: %w", err)
	}
	holders, err := s.holders(ctx)
	if err != nil {
		return fmt.Errorf("read who has a lock: %w", err)
	}
	for _, h := range holders {
		err = errors.Join(err, s.Account.Take(ctx, ToldTaken, h))
	}
	s.take(ctx, lines, func(kind string) bool { return kind == ToldRow })
	if err := errors.Join(err, s.Account.Settle(ctx)); err != nil {
		return err
	}
	s.take(ctx, lines, func(kind string) bool { return kind != ToldRow })
	return nil
}

// take has the account take in lines of some kinds, which it never fails to do.
func (s *Servers) take(ctx context.Context, lines []line, want func(kind string) bool) {
	for _, l := range lines {
		if want(l.kind) {
			_ = s.Account.Take(ctx, l.kind, l.Told)
			s.seen[l.number] = true
		}
	}
}

// Shut closes the connections by which an Observer reads tables.
func (s *Servers) Shut() {
	for _, l := range []*Link{s.Told, s.Held} {
		if l != nil {
			l.HangUp()
		}
	}
}

// read is what was committed and not taken in yet. Numbers are given before the commit, so a
// later one may be seen earlier; those of one row may not, as the row is locked in between.
func (t *Tables) read(ctx context.Context) (list []line, err error) {
	if t.seen == nil {
		t.seen = make(map[int64]bool)
	}
	rows, err := t.Told.QueryContext(ctx, "SELECT number, kind, at, content FROM told ORDER BY number")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at int64 // µs since 1970
		var content []byte
		var l line
		if err := rows.Scan(&l.number, &l.kind, &at, &content); err != nil {
			return nil, err
		}
		if t.seen[l.number] {
			continue
		}
		if err := json.Unmarshal(content, &l.Told); err != nil {
			return nil, fmt.Errorf("%q: %w", content, err)
		}
		l.At = time.UnixMicro(at)
		list = append(list, l)
	}
	return list, rows.Err()
}

func (t *Tables) holders(ctx context.Context) (list []Told, err error) {
	rows, err := t.Held.QueryContext(ctx, "SELECT number, name, owner, at, process, `session` FROM held WHERE number > ? ORDER BY number", t.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h Told
		var at int64
		var session bool
		if err := rows.Scan(&t.last, &h.Lock, &h.Owner, &at, &h.Process, &session); err != nil {
			return nil, err
		}
		h.At = time.UnixMicro(at)
		if !session {
			h.Transaction = h.Owner
		}
		list = append(list, h)
	}
	return list, rows.Err()
}
