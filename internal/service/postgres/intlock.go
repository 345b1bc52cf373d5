package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

//go:embed sql/int_lock_now.sql
var intLockNow string

var intLocks = sqlservice.IntLock[*pgx.Conn]{
	Changed: changed,
	Exists:  func(err error) bool { return isCode(err, uniqueViolation) },
	Now: func(ctx context.Context, conn *pgx.Conn) (now time.Time, err error) {
		err = conn.QueryRow(ctx, intLockNow).Scan(&now)
		return now, err
	},
}

// Those of Spring Integration's JdbcLockRegistry.
var (
	intLock        = intLocks.ByClient()
	intLockDBClock = intLocks.ByDatabase()
)
