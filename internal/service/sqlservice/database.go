package sqlservice

import (
	"context"
	"database/sql/driver"
	"net"
	"strings"
	"time"
)

// Database is how a client reaches one, by connections of the type C.
type Database[C any] interface {
	Name() string
	// Connect connects to where a lock is; "" is no lock.
	Connect(ctx context.Context, lock string) (C, error)
	// HangUp closes a connection, whatever state it is in. What the connection had ends.
	HangUp(conn C)
	// Pool makes the connections of a pool to where a lock is.
	Pool(lock string) (driver.Connector, error)
	// Refused reports whether an error is the database's own answer, by which the
	// request had no effect.
	Refused(err error) bool
}

// Holding is a Database in which connections have locks.
type Holding[C any] interface {
	Database[C]
	Begin(ctx context.Context, conn C) error
	Commit(ctx context.Context, conn C) error
	// Hurry has a connection's requests give up that wait for a lock for so long, until the
	// transaction ends if there is one; 0: for as long as by default. GaveUp reports whether an
	// error says so.
	Hurry(ctx context.Context, conn C, long time.Duration) error
	GaveUp(err error) bool
	// Cancel has a connection's request cancelled. Canceled reports whether an error says
	// so.
	Cancel(ctx context.Context, conn C)
	Canceled(err error) bool
	// Beside connects past a pooler, if there is one.
	Beside(ctx context.Context) (C, error)
	// Waits asks by a connection from Beside whether another waits for a lock.
	Waits(ctx context.Context, by, conn C) (bool, error)
	// Ended waits until a connection has ended, or ctx is done, and reports which.
	Ended(ctx context.Context, conn C) bool
}

// prefixBegins is how the prefix of a run's locks begins, and prefixLength how long it is:
// each run has as many letters.
const (
	prefixBegins = "/gcsim-"
	prefixLength = len(prefixBegins) + 26
)

// DatabaseOf is the database that has a lock: the one that is called as the prefix of the
// run's locks, where there is a prefix.
func DatabaseOf(lock string) string {
	if !strings.HasPrefix(lock, prefixBegins) || len(lock) < prefixLength {
		return ""
	}
	return lock[1:prefixLength]
}

// RunOf is what tells the database of a run from those of others.
func RunOf(database string) string { return strings.TrimPrefix(database, prefixBegins[1:]) }

// IsAddress reports whether s is HOST:PORT, as far as can be told without trying.
func IsAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(host, " /@")
}
