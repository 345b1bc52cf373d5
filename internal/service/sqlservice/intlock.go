package sqlservice

import (
	"context"
	"crypto/md5"
	_ "embed"
	"fmt"
	"time"
)

var (
	//go:embed sql/int_lock_update.sql
	intLockUpdate string
	//go:embed sql/int_lock_insert.sql
	intLockInsert string
	//go:embed sql/int_lock_free.sql
	intLockFree string
	//go:embed sql/int_lock_free_any.sql
	intLockFreeAny string
)

// Changing runs a statement, in which $1 is the first argument, and reports whether it changed
// a row.
type Changing[C any] func(ctx context.Context, conn C, statement string, args ...any) (bool, error)

// IntLock are the locks of Spring Integration's JdbcLockRegistry: its table, its statements,
// and the clock of the client, or that of the database in its place.
type IntLock[C any] struct {
	Changed Changing[C]
	// Exists reports whether an error says that there is a row of the same key.
	Exists func(error) bool
	// Now is the database's clock.
	Now func(ctx context.Context, conn C) (time.Time, error)
}

// ByClient goes by the client's clock.
func (i IntLock[C]) ByClient() Recipe[C] {
	return Recipe[C]{
		ID: "int-lock", Shows: NoToken, ByItsClock: true,
		Text: "The table INT_LOCK and the statements of Spring Integration's JdbcLockRegistry, by the client's clock.",
		Take: func(ctx context.Context, conn C, a *Attempt) (bool, error) {
			return i.take(ctx, conn, a, time.Now().UTC().Add(a.Settings.Time(Ahead.Name)))
		},
		Free: i.free,
	}
}

// ByDatabase goes by the database's.
func (i IntLock[C]) ByDatabase() Recipe[C] {
	return Recipe[C]{
		ID: "int-lock-db-clock", Shows: NoToken,
		Text: "The same by the database's clock.",
		Take: func(ctx context.Context, conn C, a *Attempt) (bool, error) {
			now, err := i.Now(ctx, conn)
			if err != nil {
				return false, err
			}
			return i.take(ctx, conn, a, now)
		},
		Free: i.free,
	}
}

// region is where JdbcLockRegistry has its locks by default.
const region = "DEFAULT"

func (i IntLock[C]) take(ctx context.Context, conn C, a *Attempt, now time.Time) (bool, error) {
	args := []any{region, KeyOf(a.Lock), a.Owner, now, now.Add(a.TTL())}
	taken, err := i.Changed(ctx, conn, intLockUpdate, args...)
	if taken || err != nil {
		return taken, err
	}
	taken, err = i.Changed(ctx, conn, intLockInsert, args...)
	if err != nil && i.Exists(err) {
		return false, nil
	}
	return taken, err
}

func (i IntLock[C]) free(ctx context.Context, conn C, a *Attempt) (bool, error) {
	if a.Settings.Text(settingUnlock) == unlockDelete {
		return i.Changed(ctx, conn, intLockFreeAny, region, KeyOf(a.Lock))
	}
	return i.Changed(ctx, conn, intLockFree, region, KeyOf(a.Lock), a.Owner)
}

// KeyOf is what the table calls a lock: Java's UUID.nameUUIDFromBytes, the version 3 without
// a name space.
func KeyOf(lock string) string {
	u := md5.Sum([]byte(lock))
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// LockOf is the lock of a key of the table; where no lock has it, the key.
func LockOf(key string, locks []string) string {
	for _, lock := range locks {
		if KeyOf(lock) == key {
			return lock
		}
	}
	return key
}
