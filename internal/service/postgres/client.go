package postgres

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// Name is what scenarios call the service.
const Name = "postgres"

// Dial makes a client.
func Dial(o service.Options) (service.Client, error) {
	if n := len(o.Endpoints); n != 1 && n != 2 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT, or that of a pooler and that of the server behind it", o.Endpoints)
	}
	at := placesBy(os.Getenv(urlEnv))
	first, server := at(o.Endpoints[0]), at(o.Endpoints[len(o.Endpoints)-1])
	if _, err := first.config(""); err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	by := service.RecipeOf(recipes, o.Settings)
	if by.Peer != "" {
		return nil, service.ErrInJava(by.ID)
	}
	c := &sqlservice.Client[*pgx.Conn]{Database: server, Settings: o.Settings, Recipe: by}
	if first != server {
		c.Database = pooled{first, server}
	}
	return sqlservice.KeepingClient[*pgx.Conn]{Client: c}, nil
}

var _ sqlservice.Keeping[*pgx.Conn] = place{}

// Name implements sqlservice.Keeping, as those below do.
func (place) Name() string { return Name }

func (p place) Connect(ctx context.Context, lock string) (*pgx.Conn, error) {
	return p.connect(ctx, sqlservice.DatabaseOf(lock))
}

func (p place) Pool(lock string) (driver.Connector, error) {
	return p.pool(sqlservice.DatabaseOf(lock))
}

func (p place) Beside(ctx context.Context) (*pgx.Conn, error) { return p.connect(ctx, "") }

func (place) HangUp(conn *pgx.Conn) { hangUp(conn) }

func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), service.LastAnswer)
	defer cancel()
	_ = conn.Close(ctx) // what it had ends with it
}

func (place) Refused(err error) bool { return errors.As(err, new(*pgconn.PgError)) }

func (place) Begin(ctx context.Context, conn *pgx.Conn) error { return exec(ctx, conn, "BEGIN") }

func (place) Commit(ctx context.Context, conn *pgx.Conn) error { return exec(ctx, conn, "COMMIT") }

func (place) Hurry(ctx context.Context, conn *pgx.Conn, long time.Duration) error {
	inTransaction := conn.PgConn().TxStatus() == 'T'
	return exec(ctx, conn, "SELECT set_config('lock_timeout', $1, $2)", strconv.FormatInt(long.Milliseconds(), 10), inTransaction)
}

// PostgreSQL's words for a wait that took longer than lock_timeout, for a request that was
// cancelled, and for a second row of one key.
const (
	lockNotAvailable = "55P03"
	queryCanceled    = "57014"
	uniqueViolation  = "23505"
)

func (place) GaveUp(err error) bool { return isCode(err, lockNotAvailable) }

func (place) Cancel(ctx context.Context, conn *pgx.Conn) { _ = conn.PgConn().CancelRequest(ctx) }

func (place) Canceled(err error) bool { return isCode(err, queryCanceled) }

//go:embed sql/waits.sql
var waitsStatement string

func (place) Waits(ctx context.Context, by, conn *pgx.Conn) (waits bool, err error) {
	err = by.QueryRow(ctx, waitsStatement, conn.PgConn().PID()).Scan(&waits)
	return waits, err
}

func (place) Ended(ctx context.Context, conn *pgx.Conn) bool {
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return ctx.Err() == nil || conn.IsClosed()
		}
	}
}

// isCode reports whether PostgreSQL has answered with an error of this code.
func isCode(err error, code string) bool {
	var answered *pgconn.PgError
	return errors.As(err, &answered) && answered.Code == code
}

// exec runs a statement.
func exec(ctx context.Context, conn *pgx.Conn, statement string, args ...any) error {
	_, err := conn.Exec(ctx, statement, args...)
	return err
}

// changed runs a statement, and reports whether it changed a row.
func changed(ctx context.Context, conn *pgx.Conn, statement string, args ...any) (bool, error) {
	tag, err := conn.Exec(ctx, statement, args...)
	return err == nil && tag.RowsAffected() > 0, err
}
