// Package sqlservice is what the lock services that are databases have in common: recipes,
// clients, tenures, and the account of tenures. Each database has a folder beside this one;
// only these import it.
package sqlservice

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// Recipe is a way to take a lock that people use, by connections of the type C. It is one of
// three kinds: a row that says who holds the lock until when, a lock that a connection has,
// or no lock at all, but a comparison with what was read.
type Recipe[C any] struct {
	// ID is what scenarios call it, and Text says what it is.
	ID, Text string
	// Shows is what the number that it gives is, as in history.Run.Tokens.
	Shows string

	// Dialect is that in which package sqllock takes the lock; "": what follows does.
	Dialect sqllock.Dialect

	// Take makes one attempt to have the row say that the lock is the client's. Free
	// undoes that, and reports whether it was so.
	Take, Free func(ctx context.Context, conn C, a *Attempt) (done bool, err error)
	// Hold waits until the connection has the lock. Release gives it back: where there
	// is none the end of the transaction does so.
	Hold, Release func(ctx context.Context, conn C, a *Attempt) error
	Session       bool // the lock is the session's, and not a transaction's

	// ByItsClock: when the lease is over a client says by its own clock, not the database.
	ByItsClock bool

	// Read reads the row of the data, by which a tenure begins. Leave reads it again, by
	// which the tenure ends.
	Read, Leave Looking[C]
	// Same reports whether the row is as a client has read it: only then is a change made.
	Same func(read, now Seen) bool

	Peer string // the folder below peers/java of the program that takes it; "": this one does
}

// Transacts reports whether a transaction has the lock.
func (r *Recipe[C]) Transacts() bool { return r.Hold != nil && !r.Session }

// Inside reports whether what a client with these settings asks of the data is part of the
// transaction that has the lock.
func (r *Recipe[C]) Inside(of setting.Values) bool {
	return r.Transacts() && of[settingWrites] != writesOutside // not all databases have the setting
}

// Looking reads what is compared of the row of the data.
type Looking[C any] func(ctx context.Context, conn C, a *Attempt) (Seen, error)

// Name implements service.Recipe, as the one below does.
func (r *Recipe[C]) Name() string { return r.ID }

func (r *Recipe[C]) About() string { return r.Text }

// NoToken is what recipes show that have no number.
const NoToken = history.ShowsNone

// Attempt is one to take a lock, and what came of it.
type Attempt struct {
	Lock, Owner string
	Settings    setting.Values
	Token       fence.Token // that was given
}

// TTL is for how long the lease is to last.
func (a *Attempt) TTL() time.Duration { return a.Settings.Time(setting.TTL) }
