package fencesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Statement is SQL in the words of the database, with its arguments.
type Statement struct {
	Text string
	Args []any
}

// Update runs an UPDATE of the user's own, whose row has its mark in a column of its own, a
// 64-bit integer that is 0 at first and never NULL. The UPDATE has the claim's token as its
// condition and as the column's new value:
//
//	UPDATE orders SET status = $1, token = $2 WHERE id = $3 AND token <= $2
//
// Update runs it as it is, in one round trip. Only where it changes nothing does Update ask
// why, by mark, a query of the column that locks the row (in SQLite without FOR UPDATE):
//
//	SELECT token FROM orders WHERE id = $1 FOR UPDATE
//
// A claim below the mark is refused with a *fence.StaleError. If there is no row, the error
// is sql.ErrNoRows, and Definite. Otherwise Update runs the UPDATE once more in the same
// transaction, with the row locked, and what it says is true. So the claim was admitted where
// there is no error, and rows says how many rows were changed: none, if another condition of
// the UPDATE excludes the row, or in MySQL if all its columns have their values already, as in
// the second of two equal requests (the option clientFoundRows counts these).
//
// In MySQL the sessions have to commit each statement: with autocommit=0 Update and Mark are
// refused. The first one of a Store asks one session: let no other one of the pool SET
// autocommit=0.
//
// Such a mark has a token only: a claim with a sequence number is refused with
// fence.ErrInvalidSequence, a shared one with fence.ErrInvalidMode. Bounds and other errors are
// as with Do. After an Unknown outcome the UPDATE may still be waiting for the row, in the
// database; when its turn comes, it has its condition.
func (s *Store) Update(ctx context.Context, c fence.Claim, mark, update Statement) (rows int64, err error) {
	if err := checkAlone(c); err != nil {
		return 0, err
	}
	if err := s.checkAutocommit(ctx); err != nil {
		return 0, err
	}
	look := func() (fence.Mark, error) { return markIn(s.DB.QueryRowContext(ctx, mark.Text, mark.Args...)) }
	if err := s.checkBound(c, look); err != nil {
		return 0, err
	}
	result, err := s.DB.ExecContext(ctx, update.Text, update.Args...)
	if err != nil && !Again(err) {
		return 0, judged(about(c), err)
	}
	if err == nil {
		if rows, err = result.RowsAffected(); err != nil || rows > 0 {
			return rows, err
		}
	}
	return s.updateLocked(ctx, c, mark, update)
}

// checkAlone refuses what a mark in one column cannot admit.
func checkAlone(c fence.Claim) error {
	if err := check(c); err != nil {
		return err
	}
	switch {
	case c.Mode != fence.Exclusive:
		return fmt.Errorf("%w: %v, want %v: the mark is one column", fence.ErrInvalidMode, c.Mode, fence.Exclusive)
	case c.Sequence != 0:
		return fmt.Errorf("%w: %d, want none: the mark is one column", fence.ErrInvalidSequence, c.Sequence)
	}
	return nil
}

// updateLocked is Update in a transaction that has the row locked.
func (s *Store) updateLocked(ctx context.Context, c fence.Claim, mark, update Statement) (rows int64, err error) {
	ran := false // nothing here must not run twice
	err = s.transact(ctx, about(c), &ran, func(tx *sql.Tx) error {
		before, err := markIn(tx.QueryRowContext(ctx, mark.Text, mark.Args...))
		if err != nil {
			return undone(about(c), err)
		}
		if _, err := before.Admit(c); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, update.Text, update.Args...)
		if err != nil {
			return undone(about(c), err)
		}
		rows, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}

// markIn reads a mark that is one column.
func markIn(row *sql.Row) (fence.Mark, error) {
	var token sql.NullInt64
	if err := row.Scan(&token); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("there is no such row: %w", err)
		}
		return fence.Mark{}, err
	}
	if !token.Valid || token.Int64 < 0 {
		return fence.Mark{}, errors.New("the mark is damaged: it is NULL or negative")
	}
	return fence.Mark{Token: fence.Token(token.Int64)}, nil
}
