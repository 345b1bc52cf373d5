package sqlservice

import (
	"context"
	"crypto/md5"
	"fmt"
	"time"
)

// IntLock are the locks of Spring Integration's JdbcLockRegistry: its table, its statements,
// and the clock of the client.
func IntLock() Recipe {
	return Recipe{
		ID: "int-lock", Shows: NoToken, ByItsClock: true,
		Text: "The table INT_LOCK and the statements of Spring Integration's JdbcLockRegistry, by the client's clock.",
		Take: func(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
			return takeInt(ctx, conn, a, time.Now().UTC().Add(a.Settings.Time(Ahead.Name)))
		},
		Free: freeInt,
	}
}

// IntLockDBClock is the same by the database's clock, which now is.
func IntLockDBClock(now func(ctx context.Context, conn Conn) (time.Time, error)) Recipe {
	return Recipe{
		ID: "int-lock-db-clock", Shows: NoToken,
		Text: "The same by the database's clock.",
		Take: func(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
			now, err := now(ctx, conn)
			if err != nil {
				return false, err
			}
			return takeInt(ctx, conn, a, now)
		},
		Free: freeInt,
	}
}

// region is where JdbcLockRegistry has its locks by default.
const region = "DEFAULT"

func takeInt(ctx context.Context, conn Conn, a *Attempt, now time.Time) (bool, error) {
	args := []any{region, KeyOf(a.Lock), a.Owner, now, now.Add(a.TTL())}
	taken, err := conn.Run(ctx, statement("int_lock_update"), args...)
	if taken || err != nil {
		return taken, err
	}
	return conn.Run(ctx, statement("int_lock_insert"), args...)
}

func freeInt(ctx context.Context, conn Conn, a *Attempt) (bool, error) {
	if a.Settings.Text(settingUnlock) == unlockDelete {
		return conn.Run(ctx, statement("int_lock_free_any"), region, KeyOf(a.Lock))
	}
	return conn.Run(ctx, statement("int_lock_free"), region, KeyOf(a.Lock), a.Owner)
}

// KeyOf is what the table calls a lock: Java's UUID.nameUUIDFromBytes, the version 3 without
// a name space.
func KeyOf(lock string) string {
	u := md5.Sum([]byte(lock))
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// lockOf is the lock of a key of the table; where no lock has it, the key.
func lockOf(key string, locks []string) string {
	for _, lock := range locks {
		if KeyOf(lock) == key {
			return lock
		}
	}
	return key
}
