// Package sqllock is a lock.Backend on a table in PostgreSQL, MariaDB, MySQL or SQLite.
//
//	db, err := sql.Open("pgx", address)
//	…
//	err = sqllock.Create(ctx, db, sqllock.PostgreSQL)
//	…
//	backend, err := sqllock.New(db, sqllock.PostgreSQL, 10*time.Second)
//
// A scope is the name of a lock. The lock of a scope is a row: the name of the holder, the
// time at which the lease of the holder ends, and the token. The holder renews its lease.
//
// # Tokens
//
// The UPDATE that takes the lock adds 1 to the token of the row. So tokens are in the order
// of the grants. The row stays when the lock is free, and the token with it: never delete
// rows of the table. The table grows by a row for each scope that was ever locked.
//
// Tokens go back if the database goes back: after a failover to a replica that has not
// received the last grants, after a restore of a backup, or after a crash if commits are not
// synced to the disk. A resource then refuses the rightful holder, or admits a stale one.
//
// # The clock
//
// All leases are by the clock of the database, in UTC. The time zone of a session does not
// matter. If that clock jumps ahead, leases end early, and two clients may believe that they
// hold the lock until the older holder is told. If the clock jumps back, nobody loses a lock: a
// holder that lives renews its lease by the new time. But a holder that has died before keeps the
// lock for as long as the clock has jumped, and its lease. SQLite uses the clock of the machine.
//
// # What a holder is told, and when
//
// A tenure is renewed every third of the TTL. If the database says that another holder has
// the lock, or that the lease is over, the tenure is lost; a renewal never takes a lock
// again. If the database does not answer for the TTL, the tenure is cut off
// (lock.ErrCutOff). This time is counted by the holder's clock, from when the holder sent
// the last request that was answered.
//
// # Who waits
//
// A waiter reads the row now and then, and asks for the lock when the row says that it is
// free. The option Poll says how often; with the option Notify PostgreSQL tells it. A waiter has a connection of the pool only while it
// asks, and takes part in no transaction. A renewal needs a connection as well: if the work
// under the lock has all connections of the pool (SetMaxOpenConns) for longer than the TTL, the
// tenure is cut off. So give the pool one connection more than the work takes, or give sqllock
// a pool of its own. Whoever asks first gets the lock, even if others have waited longer.
//
// Lock and TryLock return the errors of the database, and do not wait for its restart. If the
// other side has closed a connection of the pool, as a database does that restarts, they ask
// again, by another connection and under another name, at most as often as the pool has connections.
// So do Unlock, Extend and renewals. The statement on the
// closed connection has ended with its session. But if something between the client and the
// database has closed the connection, that statement may still come. It then takes the lock for
// nobody, if the lock is free, until the TTL is over.
//
// # Statements
//
// Each statement is a transaction of its own. If the sessions of MySQL do not commit each
// statement (autocommit=0), Lock and TryLock refuse them. The package asks one session, before the
// first lock: let no other session of the pool SET autocommit=0. One statement takes a free lock,
// and one gives it back. A serialization failure, a deadlock, a lock wait timeout and SQLite's SQLITE_BUSY
// say that the statement did nothing; the package then sends the statement again, until the
// context is done. It does not matter whether the driver of MySQL counts the rows that an
// UPDATE has changed or those that it has found (clientFoundRows). The table may have triggers.
// With a trigger MySQL does not answer by the token, and the package asks for it by one
// statement more. SQLite parses a statement once for each connection, which keeps the statement
// for as long as there is a Backend: make one, and keep it.
//
// # Who holds a lock
//
// Inspect tells the holder and its words (lock.WithWords). The words cost a statement, after the
// one that takes the lock. They are kept in the column words. A table that an earlier version
// of the package has created does not have this column: then words are not kept, until the
// column is added as it stands in create.sql. Earlier versions work with the column as well.
//
// # Drivers
//
// The package needs database/sql alone; the program imports the driver. These were tried:
// github.com/jackc/pgx/v5/stdlib with PostgreSQL 15, github.com/go-sql-driver/mysql with
// MariaDB 10.11, and modernc.org/sqlite. MySQL itself was not tried. The package knows which
// errors of these drivers are definite: after such an error nothing is left in the database.
// It takes all errors of other drivers for indefinite. Behind pgbouncer in transaction mode pgx
// needs default_query_exec_mode=exec, unless that pgbouncer knows prepared statements. The driver of MySQL makes three round
// trips for a statement, or one with interpolateParams=true.
//
// # The locks of others
//
// Spring takes locks as a JdbcLockRegistry of Spring Integration does, so that Go services
// live beside Java services. Such locks differ from what is said above: see Spring.
package sqllock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Backend takes locks in one table. Its tenures have the concrete type *Tenure, or *Lease if
// nothing renews them. It needs no closing.
type Backend struct {
	table *table
	bells *bells
	ttl   time.Duration
	fixed bool
}

var (
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// Option is a choice for New, Spring and Create.
type Option func(*options)

type options struct {
	table  string
	poll   time.Duration
	fixed  bool
	listen Listen
}

// Table names the table, which may have a schema before it: "app.locks". It is fence_locks
// without this option, and INT_LOCK for Spring.
func Table(name string) Option { return func(o *options) { o.table = name } }

// Poll is how long a waiter pauses between two looks at the lock, on average: it pauses for
// half of that to one and a half. Its first four pauses are shorter, a 16th, an 8th, a quarter
// and a half of that. Without this option it is 100 ms.
func Poll(pause time.Duration) Option { return func(o *options) { o.poll = pause } }

// FixedLease has the effect that nothing renews the tenures. They are of type *Lease, which
// is a lock.Extender. Locks of Spring are always so.
func FixedLease() Option { return func(o *options) { o.fixed = true } }

func choose(table string, some []Option) (options, error) {
	o := options{table: table, poll: 100 * time.Millisecond}
	for _, choice := range some {
		choice(&o)
	}
	if !identifier.MatchString(o.table) {
		return o, fence.Definite.New(fmt.Sprintf("sqllock: Table(%q): want a name of letters, digits and _, with or without a schema before it", o.table))
	}
	if o.poll < time.Millisecond {
		return o, fence.Definite.New(fmt.Sprintf("sqllock: Poll(%v): want 1ms or more", o.poll))
	}
	return o, nil
}

// identifier is a name that needs no quotes in any dialect.
var identifier = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)

// ownTable is the table of New and Create.
const ownTable = "fence_locks"

// Create creates the table that New needs, if it is not there. The statements are in the
// files sql/*/create.sql of the package, for those who create tables in another way.
func Create(ctx context.Context, db *sql.DB, d Dialect, some ...Option) error {
	o, err := choose(ownTable, some)
	if err != nil {
		return err
	}
	create, err := d.statement("create", o.table)
	if err != nil {
		return err
	}
	if db == nil {
		return errNoDB
	}
	// Of two that create it at once PostgreSQL can refuse one, which then finds it.
	for range 2 {
		if _, err = db.ExecContext(ctx, create.text); err == nil {
			return nil
		}
	}
	return fmt.Errorf("sqllock: create the table %s: %w", o.table, err)
}

// New returns a backend whose locks outlive a crash of their holder by ttl, which has to be
// of whole milliseconds. A holder may take as long as ttl to notice that the database cannot
// be reached.
//
// The caller closes db; closing it is a crash for all tenures that were not released. All
// clients need to reach the same primary. A scope is UTF-8 of up to 700 bytes, without
// zero bytes.
func New(db *sql.DB, d Dialect, ttl time.Duration, some ...Option) (*Backend, error) {
	o, err := choose(ownTable, some)
	if err != nil {
		return nil, err
	}
	return newBackend(db, d, ttl, o, format{
		first: 1,
		words: true,
		owner: rand.Text,
		key:   ownKey,
		values: func(t ticket, ttl time.Duration) values {
			return values{{"scope", t.key}, {"owner", t.owner}, {"ttl", ttl.Milliseconds()}, {"words", t.owner + " " + t.words}}
		},
	})
}

// longest is how many bytes a scope may have: as MySQL indexes in all its row formats.
const longest = 700

// ownKey refuses scopes that not all databases keep as they are.
func ownKey(scope string) (string, error) {
	switch {
	case scope == "":
		return "", fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)
	case len(scope) > longest:
		return "", fmt.Errorf("%w: it has %d bytes, want %d at most", fence.ErrInvalidScope, len(scope), longest)
	case !utf8.ValidString(scope) || strings.Contains(scope, "\x00"):
		return "", fmt.Errorf("%w: %q is no UTF-8, or has a zero byte", fence.ErrInvalidScope, scope)
	}
	return scope, nil
}

var errNoDB = fence.Definite.New("sqllock: the database is nil")

func newBackend(db *sql.DB, d Dialect, ttl time.Duration, o options, f format) (*Backend, error) {
	if err := attempt.CheckTTL("sqllock", ttl); err != nil {
		return nil, err
	}
	if err := o.checkNotify(d, f); err != nil {
		return nil, err
	}
	t, err := newTable(db, d, f, o)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	return &Backend{table: t, bells: newBells(o), ttl: ttl, fixed: o.fixed}, nil
}

// TryLock is as lock.Backend says. When ctx is done, TryLock and Lock take at most 2 s more:
// they wait for the answer to their request, and take back what it has granted.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.Lock)
}
