package postgres

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

var answers = map[string]sqlservice.Answer{"55P03": sqlservice.GaveUp, "57014": sqlservice.Canceled, "23505": sqlservice.Exists}

func (place) Answer(err error) sqlservice.Answer {
	if answered, is := errors.AsType[*pgconn.PgError](err); is {
		return cmp.Or(answers[answered.Code], sqlservice.Refused)
	}
	return sqlservice.Unanswered
}

type link struct {
	*pgx.Conn
	to place
}

func (l *link) Run(ctx context.Context, statement string, args ...any) (bool, error) {
	tag, err := l.Exec(ctx, statement, args...)
	return err == nil && tag.RowsAffected() > 0, err
}

func (l *link) Row(ctx context.Context, statement string, args ...any) sqlservice.Row {
	return l.QueryRow(ctx, statement, args...)
}

func (l *link) HangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), service.LastAnswer)
	defer cancel()
	_ = l.Close(ctx) // what it had ends with it
}

func (l *link) Begin(ctx context.Context) error {
	_, err := l.Exec(ctx, "BEGIN")
	return err
}

func (l *link) Hurry(ctx context.Context, long time.Duration) error {
	inTransaction := l.PgConn().TxStatus() == 'T'
	_, err := l.Exec(ctx, "SELECT set_config('lock_timeout', $1, $2)", strconv.FormatInt(long.Milliseconds(), 10), inTransaction)
	return err
}

// name is that of the session that the connection has, if it has one now.
func (l *link) name() string { return l.Config().RuntimeParams[sessionName] }

// Cancel asks the server itself.
func (l *link) Cancel(ctx context.Context) {
	if by, err := l.to.Beside(ctx); err == nil {
		defer by.HangUp()
		_, _ = by.Run(ctx, statement("cancelnamed"), l.name())
	}
}

func (l *link) Waits(ctx context.Context, by sqlservice.Conn) (waits bool, err error) {
	err = by.Row(ctx, statement("waitsnamed"), l.name()).Scan(&waits)
	return waits, err
}

func (l *link) Ended(ctx context.Context) bool {
	for {
		if _, err := l.WaitForNotification(ctx); err != nil {
			return ctx.Err() == nil || l.IsClosed()
		}
	}
}

// look reads the row, and has a message tell of it.
func look(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt, by, kind string) (seen sqlservice.Seen, err error) {
	err = conn.Row(ctx, statement("resource_look"), a.Lock, messagePrefix+kind, a.Owner, by).Scan(&seen.Version, &seen.Status, nil)
	return seen, err
}

func (l *link) Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error) {
	err = l.QueryRow(ctx, statement("resource_read"), lock, key, sqlservice.InJSON(told)).Scan(&value, nil)
	return value, err
}

// Change is one UPDATE.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	set, deleted := make(map[string]string), []string{}
	for _, e := range c.Told {
		if value := sqlservice.After(e); value != nil {
			set[e.Key] = *value
		} else {
			deleted = append(deleted, e.Key)
		}
	}
	told := sqlservice.InJSON(c.Told)
	err = l.QueryRow(ctx, statement("resource_write"), c.Lock, set, deleted, told, c.Compare, c.Read.Version, c.Read.Status, c.Tenure).
		Scan(&now.Version, &now.Status, nil)
	if c.Compare == "" || !errors.Is(err, pgx.ErrNoRows) {
		return now, err == nil, err
	}
	err = l.QueryRow(ctx, statement("resource_refused"), c.Lock, told).Scan(&now.Version, &now.Status, nil)
	return now, false, err
}
