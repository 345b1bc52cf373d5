package sqlite

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

type (
	recipe  = sqlservice.Recipe[*link]
	attempt = sqlservice.Attempt
)

// recipes are all of them.
var recipes = []*recipe{&token, &intLock, &intLockDBClock, &immediate}

var (
	//go:embed sql/now.sql
	nowStatement string
	//go:embed sql/tell.sql
	tellStatement string
)

var token = sqlservice.Token[*link](sqllock.SQLite)

var intLocks = sqlservice.IntLock[*link]{Changed: changed, Exists: exists, Now: now}

// Those of Spring Integration's JdbcLockRegistry.
var (
	intLock        = intLocks.ByClient()
	intLockDBClock = intLocks.ByDatabase()
)

// immediate has the file's lock, whichever lock it asks for. Its row in the table finished is
// seen when the transaction is over.
var immediate = recipe{
	ID: "immediate", Shows: sqlservice.NoToken,
	Text: "BEGIN IMMEDIATE, a transaction that the holder keeps open. It is the only one that can write to the file, whichever lock it is asked for.",
	Hold: func(ctx context.Context, l *link, a *attempt) error {
		if err := l.beginImmediate(ctx); err != nil {
			return err
		}
		if _, err := l.ExecContext(ctx, "INSERT INTO finished VALUES (?)", a.Owner); err != nil {
			return err
		}
		return tell(ctx, l.file.account(), a)
	},
}

// tell tells the account that this process has the file's lock. The account is a file of its
// own, as nobody can see what a transaction has not committed. The time is the process's: SQLite's
// has milliseconds.
func tell(ctx context.Context, account file, a *attempt) error {
	l, err := account.Connect(ctx, "")
	if err != nil {
		return err
	}
	defer account.HangUp(l)
	_, err = l.ExecContext(ctx, tellStatement, a.Lock, a.Owner, time.Now().UnixMicro(), os.Getpid())
	return err
}

func changed(ctx context.Context, l *link, statement string, args ...any) (bool, error) {
	return sqlservice.Changed(ctx, l, statement, args...)
}

func exists(err error) bool {
	var answered *sqlite.Error
	return errors.As(err, &answered) && answered.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

func now(ctx context.Context, l *link) (time.Time, error) {
	var micros int64
	err := l.QueryRowContext(ctx, nowStatement).Scan(&micros)
	return time.UnixMicro(micros), err
}
