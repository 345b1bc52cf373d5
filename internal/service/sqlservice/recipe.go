// Package sqlservice is what the lock services that are databases have in common: recipes,
// clients, tenures, and the account of tenures. Each database has a folder beside this one;
// only these import it.
package sqlservice

import (
	"context"
	"crypto/md5"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// Recipe is a way to take a lock that people use. It is one of three kinds: a row that says
// who holds the lock until when, a lock that a connection has, or no lock at all, but a
// comparison with what was read.
type Recipe struct {
	// ID is what scenarios call it, and Text says what it is.
	ID, Text string
	// Shows is what the number that it gives is, as in history.Run.Tokens.
	Shows string

	// Dialect is that in which package sqllock takes the lock; "": what follows does.
	Dialect sqllock.Dialect

	// Take makes one attempt to have the row say that the lock is the client's. Free
	// undoes that, and reports whether it was so.
	Take, Free func(ctx context.Context, conn Conn, a *Attempt) (done bool, err error)
	// Hold waits until the connection has the lock. Release gives it back: where there
	// is none the end of the transaction does so.
	Hold, Release func(ctx context.Context, conn Conn, a *Attempt) error
	Session       bool // the lock is the session's, and not a transaction's

	// ByItsClock: when the lease is over a client says by its own clock, not the database.
	ByItsClock bool

	// Look reads the row of the data, by which a tenure begins, and ends. Same reports
	// whether the row is as a client has read it: only then is a change made.
	Look Looking
	Same func(read, now Seen) bool

	Peer string // the program that takes it, as in java/curator; "": this one does
}

// Transacts reports whether a transaction has the lock.
func (r *Recipe) Transacts() bool { return r.Hold != nil && !r.Session }

// Inside reports whether what a client with these settings asks of the data is part of the
// transaction that has the lock.
func (r *Recipe) Inside(of setting.Values) bool {
	return r.Transacts() && of[settingWrites] != writesOutside // not all databases have the setting
}

// Looking reads what is compared of the row of the data, by a recipe of this ID. The account
// is told of it as kind says.
type Looking func(ctx context.Context, conn Conn, a *Attempt, by, kind string) (Seen, error)

func (r *Recipe) Says() (name, about string) { return r.ID, r.Text }

// NoToken is what recipes show that have no number.
const NoToken = history.ShowsNone

// Attempt is one to take a lock, and what came of it.
type Attempt struct {
	Lock, Owner string
	Settings    setting.Values
	Token       fence.Token // that was given
}

func (a *Attempt) TTL() time.Duration { return a.Settings.Time(setting.TTL) }

// Holding makes a Hold that is a statement, of the lock ($1) and the owner ($2).
func Holding(statement string) func(context.Context, Conn, *Attempt) error {
	return func(ctx context.Context, conn Conn, a *Attempt) error {
		_, err := conn.Run(ctx, statement, a.Lock, a.Owner)
		return err
	}
}

// IntLock are the locks of Spring Integration's JdbcLockRegistry: its table, its statements,
// and the clock of the client.
func IntLock() Recipe {
	return Recipe{
		ID: "int-lock", Shows: NoToken, ByItsClock: true,
		Text: "The table INT_LOCK and the statements of Spring Integration's JdbcLockRegistry, by the client's clock.",
		Take: func(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
			return takeInt(ctx, conn, a, time.Now().UTC().Add(a.Settings.Time(java.Ahead.Name)))
		},
		Free: freeInt,
	}
}

// IntLockDBClock is the same by the database's clock, which now is.
func IntLockDBClock(now func(ctx context.Context, conn Conn) (time.Time, error)) Recipe {
	return Recipe{
		ID: "int-lock-db-clock", Shows: NoToken,
		Text: "The same by the database's clock.",
		Take: func(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
			now, err := now(ctx, conn)
			if err != nil {
				return false, err
			}
			return takeInt(ctx, conn, a, now)
		},
		Free: freeInt,
	}
}

// region is where JdbcLockRegistry has its locks by default.
const region = "DEFAULT"

func takeInt(ctx context.Context, conn Conn, a *Attempt, now time.Time) (bool, error) {
	args := []any{region, KeyOf(a.Lock), a.Owner, now, now.Add(a.TTL())}
	taken, err := conn.Run(ctx, statement("int_lock_update"), args...)
	if taken || err != nil {
		return taken, err
	}
	return conn.Run(ctx, statement("int_lock_insert"), args...)
}

func freeInt(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
	if a.Settings.Text(setting.Unlock) == unlockDelete {
		return conn.Run(ctx, statement("int_lock_free_any"), region, KeyOf(a.Lock))
	}
	return conn.Run(ctx, statement("int_lock_free"), region, KeyOf(a.Lock), a.Owner)
}

// KeyOf is what the table calls a lock: Java's UUID.nameUUIDFromBytes, the version 3 without
// a name space.
func KeyOf(lock string) string {
	u := md5.Sum([]byte(lock))
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// SpringJDBC is a program in Java, with Spring Integration itself.
func SpringJDBC() Recipe {
	return Recipe{
		ID: java.Prefix + "spring-jdbc", Shows: NoToken, Peer: java.Prefix + "jdbc", ByItsClock: true,
		Text: "Spring Integration's JdbcLockRegistry itself, 7.0.5: a client in Java, with a new registry for each tenure. It goes by the clock of its JVM. Nothing renews the lock. A waiter asks every 100 ms.",
	}
}

// shedLock is the folder of ShedLock's program in Java.
const shedLock = java.Prefix + "shedlock"

// ShedLock is a program in Java, with ShedLock itself.
func ShedLock() Recipe {
	return Recipe{
		ID: shedLock, Shows: NoToken, Peer: shedLock, ByItsClock: true,
		Text: "The JdbcTemplateLockProvider of ShedLock itself, 7.0.0: a client in Java, with a new provider for each tenure. It goes by the clock of its JVM. The TTL is its lockAtMostFor, and nothing renews the lock. A waiter asks every 100 ms.",
	}
}

// ShedLockDBTime is the same by the database's clock.
func ShedLockDBTime() Recipe {
	return Recipe{ID: shedLock + "-db-time", Shows: NoToken, Peer: shedLock, Text: "Likewise with usingDbTime, by the database's clock."}
}
