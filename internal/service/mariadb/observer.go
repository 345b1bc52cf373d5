package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// Open implements sqlservice.Observer.
func (s *servers) Open(ctx context.Context) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	l := conn.(*link).Link
	s.tables.Told, s.tables.Held = l, l
	now, err := now(ctx, conn)
	s.Account.Behind = time.Until(now)
	return err
}

// Shut implements sqlservice.Observer.
func (s *servers) Shut() {
	if s.tables.Told != nil {
		s.tables.Told.HangUp()
	}
}

// Round implements sqlservice.Observer.
func (s *servers) Round(ctx context.Context) error { return s.tables.Round(ctx, s.Account) }

// goesOn asks whether a connection still has a lock. A transaction that goes on has a row
// that is there, and not committed.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	if t.Transaction == "" {
		err = s.tables.Told.Row(ctx, "SELECT IS_USED_LOCK($1) <=> $2", t.Lock, t.Process).Scan(&on)
		return on, err
	}
	there, err := s.sees(ctx, sql.LevelReadUncommitted, t.Transaction)
	if !there || err != nil {
		return false, err
	}
	committed, err := s.sees(ctx, sql.LevelReadCommitted, t.Transaction)
	return !committed, err
}

// sees reports whether the row of a transaction is there.
func (s *servers) sees(ctx context.Context, level sql.IsolationLevel, transaction string) (there bool, err error) {
	tx, err := s.tables.Told.BeginTx(ctx, &sql.TxOptions{Isolation: level, ReadOnly: true})
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT * FROM goes_on WHERE owner = ?)", transaction).Scan(&there)
	return there, errors.Join(err, tx.Rollback())
}
