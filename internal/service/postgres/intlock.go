package postgres

import (
	"context"
	"crypto/md5"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed sql/int_lock_update.sql
	intLockUpdate string
	//go:embed sql/int_lock_insert.sql
	intLockInsert string
	//go:embed sql/int_lock_now.sql
	intLockNow string
	//go:embed sql/int_lock_free.sql
	intLockFree string
	//go:embed sql/int_lock_free_any.sql
	intLockFreeAny string
)

// Those of Spring Integration's JdbcLockRegistry: its table, its statements, and the clock
// of the client, or that of the database in its place.
var (
	intLock = recipe{
		name: "int-lock", shows: noToken,
		about: "The table INT_LOCK and the statements of Spring Integration's JdbcLockRegistry, by the client's clock.",
		take: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
			return a.intLock(ctx, conn, time.Now().UTC().Add(a.settings.Time(settingAhead)))
		},
		free: intLockUnlock,
	}
	intLockDBClock = recipe{
		name: "int-lock-db-clock", shows: noToken,
		about: "The same by the database's clock.",
		take: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
			var now time.Time
			if err := conn.QueryRow(ctx, intLockNow).Scan(&now); err != nil {
				return false, err
			}
			return a.intLock(ctx, conn, now)
		},
		free: intLockUnlock,
	}
)

// region is where JdbcLockRegistry has its locks by default.
const region = "DEFAULT"

// uniqueViolation is PostgreSQL's word for a second row of one key.
const uniqueViolation = "23505"

// intLock has now for the time.
func (a *attempt) intLock(ctx context.Context, conn *pgx.Conn, now time.Time) (bool, error) {
	args := []any{region, uuidOf(a.lock), a.owner, now, now.Add(a.ttl())}
	taken, err := changed(ctx, conn, intLockUpdate, args...)
	if taken || err != nil {
		return taken, err
	}
	taken, err = changed(ctx, conn, intLockInsert, args...)
	if isCode(err, uniqueViolation) {
		return false, nil
	}
	return taken, err
}

func intLockUnlock(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
	if a.settings.Text(settingUnlock) == unlockDelete {
		return changed(ctx, conn, intLockFreeAny, region, uuidOf(a.lock))
	}
	return changed(ctx, conn, intLockFree, region, uuidOf(a.lock), a.owner)
}

// uuidOf is Java's UUID.nameUUIDFromBytes, the version 3 without a name space.
func uuidOf(name string) string {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// isCode reports whether PostgreSQL has answered with an error of this code.
func isCode(err error, code string) bool {
	var answered *pgconn.PgError
	return errors.As(err, &answered) && answered.Code == code
}
