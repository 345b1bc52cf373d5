package mariadb

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

//go:embed sql/held.sql
var heldStatement string

// watch is what the rounds of the observer need.
type watch struct {
	*sqlservice.Watch
	account *sqlservice.Account
	log     *sqlservice.Log
	data    *sqlservice.DataLog[*link]
	conn    *link
	held    int64 // the number of the last lock of a connection that was told
}

// observe begins the account, or goes on with it after the server was away.
func (s *servers) observe(ctx, starting context.Context) error {
	conn, err := s.place.connect(starting, s.database)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	w := &watch{account: s.account, log: s.log, data: s.data, conn: conn}
	if s.watch != nil {
		w.held = s.watch.held
	}
	if err := w.open(starting); err != nil {
		hangUp(conn)
		return fmt.Errorf("observer: %w", errors.Join(err, context.Cause(starting)))
	}
	w.Watch = sqlservice.Follow(ctx, s.stage, s.process(), s.account, w.round, func() { hangUp(conn) })
	s.watch = w
	return nil
}

func (w *watch) open(ctx context.Context) error {
	var now time.Time
	if err := w.conn.QueryRowContext(ctx, "SELECT SYSDATE(6)").Scan(&now); err != nil {
		return err
	}
	w.log.Behind = time.Until(now)
	return nil
}

// round takes in what happened since the last one. The data is read first: the grant under
// which something happened to the data is then there, too.
func (w *watch) round(ctx context.Context) error {
	data, err := w.data.Read(ctx, w.conn, w.log.Behind)
	if err != nil {
		return err
	}
	holders, err := w.newHolders(ctx)
	if err != nil {
		return err
	}
	if err := w.log.Round(ctx, w.conn, w.account, holders, w.goesOn(ctx)); err != nil {
		return err
	}
	w.data.TakeAll(data)
	return nil
}

// newHolders are the locks that connections have taken.
func (w *watch) newHolders(ctx context.Context) (list []sqlservice.Holder, err error) {
	rows, err := w.conn.QueryContext(ctx, heldStatement, w.held)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h sqlservice.Holder
		var at int64
		var session bool
		if err := rows.Scan(&w.held, &h.Lock, &h.Owner, &at, &h.Process, &session); err != nil {
			return nil, err
		}
		h.At = time.UnixMicro(at).Add(-w.log.Behind)
		if !session {
			h.Transaction = h.Owner
		}
		list = append(list, h)
	}
	return list, rows.Err()
}

// goesOn asks whether a connection still has a lock. A transaction that goes on has a row
// that is there, and not committed.
func (w *watch) goesOn(ctx context.Context) func(sqlservice.Holder) (bool, error) {
	return func(h sqlservice.Holder) (on bool, err error) {
		if h.Transaction == "" {
			err = w.conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?) <=> ?", h.Lock, h.Process).Scan(&on)
			return on, err
		}
		there, err := w.sees(ctx, sql.LevelReadUncommitted, h.Transaction)
		if !there || err != nil {
			return false, err
		}
		committed, err := w.sees(ctx, sql.LevelReadCommitted, h.Transaction)
		return !committed, err
	}
}

// sees reports whether the row of a transaction is there.
func (w *watch) sees(ctx context.Context, level sql.IsolationLevel, transaction string) (there bool, err error) {
	tx, err := w.conn.BeginTx(ctx, &sql.TxOptions{Isolation: level, ReadOnly: true})
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT * FROM goes_on WHERE owner = ?)", transaction).Scan(&there)
	return there, errors.Join(err, tx.Rollback())
}
