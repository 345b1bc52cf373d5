package sqlite

import (
	"context"
	"embed"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

// recipes are all of them.
var recipes = []*sqlservice.Recipe{&token, &intLock, &intLockDBClock, &immediate}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.SQLite)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(func(ctx context.Context, conn sqlservice.Conn) (time.Time, error) {
		var micros int64
		err := conn.Row(ctx, "SELECT CAST(unixepoch('subsec') * 1000 AS integer) * 1000").Scan(&micros)
		return time.UnixMicro(micros), err
	})
)

// immediate has the file's lock, whichever lock it asks for. Its row in the table finished is
// seen when the transaction is over.
var immediate = sqlservice.Recipe{
	ID: "immediate", Shows: sqlservice.NoToken,
	Text: "BEGIN IMMEDIATE, a transaction that the holder keeps open. It is the only one that can write to the file, whichever lock it is asked for.",
	Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
		l := conn.(*link)
		if err := l.beginImmediate(ctx); err != nil {
			return err
		}
		if _, err := l.Run(ctx, "INSERT INTO finished VALUES ($1)", a.Owner); err != nil {
			return err
		}
		return tell(ctx, l.file.account(), a)
	},
}

// tell tells the account that this process has the file's lock. The account is a file of its
// own, as nobody can see what a transaction has not committed. The time is the process's: SQLite's
// has milliseconds.
func tell(ctx context.Context, account file, a *sqlservice.Attempt) error {
	l, err := account.open(ctx)
	if err != nil {
		return err
	}
	defer l.HangUp()
	_, err = l.Run(ctx, "INSERT INTO held (name, owner, at, process) VALUES ($1, $2, $3, $4)", a.Lock, a.Owner, time.Now().UnixMicro(), os.Getpid())
	return err
}
