// Package fencesql keeps fencing marks in a database, beside the data that they protect, by
// database/sql: in PostgreSQL, MySQL, MariaDB or SQLite. It imports no driver.
//
//	store := &fencesql.Store{DB: db, Dialect: fencesql.PostgreSQL}
//	err := store.Do(ctx, claim, func(ctx context.Context) error {
//		_, err := fencesql.Tx(ctx).ExecContext(ctx, "UPDATE orders SET paid = true WHERE id = $1", id)
//		return err
//	})
//
// # Where a mark is
//
//   - In a table of marks, with a row for each scope, which is the name of a lock. Store.Do
//     works in a transaction of its own, and Do in a transaction of the user's. The scope's
//     row is locked until the transaction ends, so that check, mark and data are one step,
//     whatever the isolation level. The data are all that the transaction changes.
//   - In the row that the mark protects: Store.Update, by one statement of the user's own.
//     Such a mark guards this row alone. A lock that guards more needs the table.
//
// # Who waits
//
// Transactions of one scope run one after the other. A holder that is stopped in its
// transaction keeps its successors waiting, past any TTL: have the database end such a
// transaction (in PostgreSQL by idle_in_transaction_session_timeout), and bound the wait by
// the database's lock timeout or by ctx.
//
// # What the database decides
//
// Tokens and sequence numbers are signed 64-bit integers, as columns are. All valid tokens,
// 1 to 2^63-1, fit; an issuer of unsigned numbers must stay in this range. A mark that is
// negative is an error, and admits nothing.
//
// A mark is as durable as the database's commits. A failover to a replica that lacks some
// commits, and the restore of a backup, lose marks together with the data.
//
// # Transactions of other packages
//
// A transaction that is no sql.Tx, such as a pgx.Tx, keeps the same marks by two statements,
// with Mark.Admit of package fence between them. In PostgreSQL, with $1 = []byte(c.Scope):
//
//	INSERT INTO fence_marks (scope, token, sequence, shared) VALUES ($1, 0, 0, 0)
//	ON CONFLICT (scope) DO UPDATE SET token = fence_marks.token
//	RETURNING token, sequence, shared
//
//	UPDATE fence_marks SET token = $2, sequence = $3, shared = $4 WHERE scope = $1
//
// The first one returns the mark, and locks its row. The second one keeps what Admit returns.
// A claim with a sequence number needs the second one again, with Mark.Done, after the work.
//
// # SQLite
//
// With SQLite, let the driver wait for the lock that another connection has (in
// modernc.org/sqlite by "_pragma=busy_timeout(5000)"): this package does not wait.
package fencesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// MaxScope is the longest scope, in bytes.
const MaxScope = 1000

// Do runs op in tx, a transaction of the user's, if c is admitted by the mark of its scope,
// and raises the mark. It returns op's error, a refusal as Mark.Admit of package fence has
// them, or fence.ErrDuplicate; with a refusal or a duplicate op did not run and no mark
// changed, so that tx may be committed for other work in it.
//
// The mark is raised before op runs. Where op fails, what it has done and the mark go the
// same way: roll tx back and both are undone, commit it and both stay.
//
// Any other error is the database's: roll tx back. Where Again says so, make the transaction
// again. Do knows no bound of the tokens; Store does, or ask Claim.CheckBound of package
// fence before the transaction begins.
//
// Begin tx with Do, and read data after it: what a transaction has read before can be older
// than the mark. In SQLite, a transaction that has read cannot always go on to write.
func Do(ctx context.Context, tx *sql.Tx, d Dialect, c fence.Claim, op func() error) error {
	if err := check(c); err != nil {
		return err
	}
	s, err := d.statements()
	if err != nil {
		return err
	}
	before, err := s.take(ctx, tx, c.Scope)
	if err != nil {
		return undone(about(c), err)
	}
	after, err := before.Admit(c)
	if err != nil {
		return err
	}
	if after != before {
		if err := s.put(ctx, tx, c.Scope, after); err != nil {
			return undone(about(c), err)
		}
	}
	if err := op(); err != nil {
		return err
	}
	if done := after.Done(c); done != after {
		if err := s.put(ctx, tx, c.Scope, done); err != nil {
			return undone(about(c), err)
		}
	}
	return nil
}

func about(c fence.Claim) string { return fmt.Sprintf("scope %q, token %d", c.Scope, c.Token) }

// check refuses what is refused whatever the mark is.
func check(c fence.Claim) error {
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	_, err := fence.Mark{}.Admit(c)
	return err
}

func checkScope(scope string) error {
	if n := len(scope); n == 0 || n > MaxScope {
		return fmt.Errorf("%w: it has %d bytes, want 1 to %d", fence.ErrInvalidScope, n, MaxScope)
	}
	return nil
}

// take returns the mark of a scope, which then is this transaction's until its end.
func (s statements) take(ctx context.Context, tx *sql.Tx, scope string) (m fence.Mark, err error) {
	if !s.firstBefore {
		m, err = scan(tx.QueryRowContext(ctx, s.lock, []byte(scope)))
		if !errors.Is(err, sql.ErrNoRows) {
			return m, err
		}
	}
	if _, err := tx.ExecContext(ctx, s.first, []byte(scope)); err != nil {
		return m, err
	}
	return scan(tx.QueryRowContext(ctx, s.lock, []byte(scope)))
}

func (s statements) put(ctx context.Context, tx *sql.Tx, scope string, m fence.Mark) error {
	_, err := tx.ExecContext(ctx, s.raise, int64(m.Token), m.Sequence, int64(m.Shared), []byte(scope))
	return err
}

// scan refuses what put did not write: a mark that is taken for a lower one lets stale
// writes in.
func scan(row *sql.Row) (m fence.Mark, err error) {
	if err := row.Scan(&m.Token, &m.Sequence, &m.Shared); err != nil {
		return fence.Mark{}, err
	}
	if m.Token < 0 || m.Sequence < 0 || m.Shared != 0 && m.Shared <= m.Token {
		return fence.Mark{}, fmt.Errorf("the mark is damaged: %+v", m)
	}
	return m, nil
}
