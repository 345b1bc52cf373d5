package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// wantSQLLocks is the goal: sqllock takes at most so many times the time of the bare
// statements.
const wantSQLLocks = 1.2

const bareStatements = "bare statements"

// sqlLocks compares sqllock with the statements that lock.
func (b *bench) sqlLocks(d *database, db *sql.DB, t *table) error {
	ours, err := bySQLLock(d, db)
	if err != nil {
		return err
	}
	const most = 16
	var scopes []string
	for i := range most {
		scopes = append(scopes, ownLock(i))
	}
	bare, err := byStatements(d, db, scopes...)
	if err != nil {
		return err
	}
	for _, clients := range []int{1, most} {
		results, err := b.race(
			contender{"sqllock", ownLocks(clients, ours), nil},
			contender{bareStatements, ownLocks(clients, bare), nil})
		if err != nil {
			return err
		}
		t.compareClock(d.name, clients, results[1], results...)
		b.report.goal(fmt.Sprintf("lock and unlock in %s, clients: %d; time of the bare statements'", d.name, clients),
			atMost, wantSQLLocks, ratios(results[1].rates, results[0].rates))
	}
	return nil
}

// ownLocks is a contender's turn: each client locks and unlocks a lock of its own.
func ownLocks(clients int, take locking) func(time.Duration) (int, time.Duration, error) {
	return func(d time.Duration) (int, time.Duration, error) {
		return takeTurn(clients, d, func(ctx context.Context, i int) error {
			unlock, err := take(ctx, ownLock(i))
			if err != nil {
				return err
			}
			return unlock(ctx)
		})
	}
}

func bySQLLock(d *database, db *sql.DB) (locking, error) {
	if err := sqllock.Create(context.Background(), db, d.locks); err != nil {
		return nil, err
	}
	backend, err := sqllock.New(db, d.locks, lockTTL)
	return lockingBy(backend), err
}

// byStatements locks by the least that a lock takes, in the table of sqllock, and polls as
// byCommands does. The scopes' rows are there before.
func byStatements(d *database, db *sql.DB, scopes ...string) (locking, error) {
	row := func(scope string) string { return "/bare" + scope } // beside sqllock's own
	insert := d.statement("INSERT INTO fence_locks (scope, owner, token, expires) VALUES (?, '', 0, NOW)")
	for _, scope := range scopes {
		if _, err := db.Exec(insert, row(scope)); err != nil {
			return nil, err
		}
	}
	take := d.statement("UPDATE fence_locks SET owner = ?, expires = LATER WHERE scope = ? AND (owner = '' OR expires <= NOW)")
	free := d.statement("UPDATE fence_locks SET owner = '' WHERE scope = ? AND owner = ?")
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		owner := rand.Text()
		for pause := mathrand.N(poll); ; pause = poll {
			// Whose statement is cancelled does not know whether it has the lock.
			taken, err := changes(context.WithoutCancel(ctx), db, take, owner, row(scope))
			if err != nil {
				return nil, err
			}
			if taken {
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return func(ctx context.Context) error {
			ours, err := changes(ctx, db, free, row(scope), owner)
			if err == nil && !ours {
				err = errNotOurs
			}
			return err
		}, nil
	}, nil
}

// changes runs a statement, and reports whether it changed a row.
func changes(ctx context.Context, db *sql.DB, statement string, args ...any) (bool, error) {
	done, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// sqlHandOver measures how long it takes from an unlock to the grant of the next one.
func (b *bench) sqlHandOver(d *database, db *sql.DB, t *table) error {
	ours, err := bySQLLock(d, db)
	if err != nil {
		return err
	}
	bare, err := byStatements(d, db, relayScope)
	if err != nil {
		return err
	}
	for _, waiters := range []int{1, 16} {
		ways := []*passing{{name: "sqllock", join: together(ours)}, {name: polling, join: together(bare)}}
		if err := b.pass(waiters, ways); err != nil {
			return err
		}
		for _, way := range ways {
			t.add(append([]string{d.name}, way.row(waiters, ways[1])...)...)
		}
	}
	return nil
}

// together makes a relay whose runners lock in one way, by one pool of connections.
func together(take locking) func(runners int) (*relay, error) {
	return func(runners int) (*relay, error) {
		return &relay{slices.Repeat([]locking{take}, runners), untold{}, func() {}}, nil
	}
}

// untold is a server that does not tell how many requests it has read.
type untold struct{}

func (untold) read(context.Context) (int, error) { return 0, nil }

func (untold) since(context.Context, int) (int, error) { return 0, nil }
