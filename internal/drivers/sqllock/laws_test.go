package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// kind is a way to make a backend, and what its laws are.
type kind struct {
	name    string
	make    func(ttl time.Duration) maker
	subject locktest.Subject
}

var kinds = []kind{
	{"own", func(ttl time.Duration) maker { return own(ttl) }, locktest.Subject{}},
	{"own, fixed", func(ttl time.Duration) maker { return own(ttl, sqllock.FixedLease()) }, locktest.Subject{FixedLease: true}},
	{"own, notified", func(ttl time.Duration) maker {
		return func(db *sql.DB, d sqllock.Dialect) (*sqllock.Backend, error) {
			return own(ttl, sqllock.Notify(listening(db, nil)))(db, d)
		}
	}, locktest.Subject{}},
	{"spring", spring, locktest.Subject{NoToken: true, NoWords: true, FixedLease: true}},
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for name, make := range sqltest.Databases() {
			if k.name == "spring" && name == "sqlite" || k.name == "own, notified" && name != "postgres" {
				continue // which does not know it
			}
			t.Run(k.name+" on "+name, func(t *testing.T) {
				t.Parallel() // they wait more than they do
				locktest.Run(t, subject(t, withTables(t, make(t)), k, ttl))
			})
		}
	}
}

// TestLawsOfRestarts: with a longer TTL than the other laws, because a server that was killed
// may need a second to start.
func TestLawsOfRestarts(t *testing.T) {
	t.Parallel()
	for name, make := range sqltest.Databases() {
		if name == "sqlite" {
			continue // which has no server
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait more than they do
			d := withTables(t, make(t))
			for _, k := range kinds {
				if k.name == "own, notified" && name != "postgres" {
					continue
				}
				s := subject(t, d, k, 5*ttl)
				s.Restart = func(ctx context.Context) error { return errors.Join(d.Kill(), d.Restart(ctx)) }
				for _, l := range locktest.Laws {
					if !l.Restarts {
						continue
					}
					t.Run(k.name+", "+l.Name, func(t *testing.T) {
						if err := l.Check(t.Context(), s); err != nil && !errors.Is(err, errors.ErrUnsupported) {
							t.Error(err)
						}
					})
				}
			}
		})
	}
}

// subject is a kind on a database.
func subject(t *testing.T, d *sqltest.Database, k kind, ttl time.Duration) locktest.Subject {
	s := k.subject
	s.TTL, s.Slack, s.Inspects = ttl, 5*time.Second, true
	// On a machine that is busy a database can take a TTL to answer.
	s.Again = func(err error) bool { return strings.Contains(err.Error(), "the lease was over when the answer came") }
	s.Open = func(context.Context) (locktest.Client, error) { return openLinked(d, k.make(ttl)) }
	if d.Driver == "sqlite" { // there is no network
		s.Open = func(context.Context) (locktest.Client, error) { return openGated(t, d, k.make(ttl), nil) }
	}
	return s
}

// openLinked connects a client by a link that can be cut.
func openLinked(d *sqltest.Database, make maker) (locktest.Client, error) {
	there, link, err := linked(*d)
	if err != nil {
		return locktest.Client{}, err
	}
	db, err := sql.Open(there.Driver, there.Source)
	if err != nil {
		return locktest.Client{}, err
	}
	b, err := make(db, dialect(d))
	return locktest.Client{
		Backend: b,
		Crash:   func() { link.Tx.Shut(); link.Rx.Shut() },
		Wake:    func() { link.Tx.Open(); link.Rx.Open() },
		Close:   func() { link.Close(); db.Close() },
	}, err
}

// openGated connects a client by a gate, which may change its statements.
func openGated(t *testing.T, d *sqltest.Database, make maker, rewrite func(string) string) (locktest.Client, error) {
	db, g := newGate(t, d)
	g.rewrite = rewrite
	b, err := make(db, dialect(d))
	return locktest.Client{
		Backend: b,
		Crash:   g.crash,
		Wake:    g.wake,
		Close:   func() { g.wake(); db.Close() },
	}, err
}
