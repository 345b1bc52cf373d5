package postgres

import (
	"context"
	"embed"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

type recipe = sqlservice.Recipe

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

var recipes = []*recipe{&token, &intLock, &intLockDBClock, &springJDBC, &forUpdate, &forUpdateNaive, &advisory, &advisoryTransaction, &version, &status}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.PostgreSQL)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(func(ctx context.Context, conn sqlservice.Conn) (now time.Time, err error) {
		err = conn.Row(ctx, statement("int_lock_now")).Scan(&now)
		return now, err
	})
	springJDBC = sqlservice.SpringJDBC()
	version    = sqlservice.Version(look)
	status     = sqlservice.Status(look)
)

// Those that a connection has.
var (
	// forUpdate has one row for each lock, which was there before.
	forUpdate = recipe{
		ID: "for-update", Shows: sqlservice.NoToken, Hold: sqlservice.Holding(statement("for_update")),
		Text: "SELECT … FOR UPDATE of a row that is there; the holder keeps the transaction open.",
	}
	// forUpdateNaive locks what it finds, and where it finds nothing it locks nothing.
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: sqlservice.NoToken,
		Text: "As for-update, of a row that is inserted where there is none, in a table without a unique name.",
		Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
			found, err := conn.Run(ctx, statement("naive_find"), a.Lock, a.Owner)
			if found || err != nil {
				return err
			}
			_, err = conn.Run(ctx, statement("naive_insert"), a.Lock, a.Owner)
			return err
		},
	}
	// advisory is a lock on a number, which the session has.
	advisory = recipe{
		ID: "advisory", Shows: sqlservice.NoToken, Session: true, Hold: sqlservice.Holding(statement("advisory")),
		Text: "pg_advisory_lock, which the session has until it unlocks or ends.",
		Release: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
			var had bool
			err := conn.Row(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", a.Lock).Scan(&had)
			if err == nil && !had {
				return sqlservice.ErrElsewhere
			}
			return err
		},
	}
	// advisoryTransaction is one that the transaction has.
	advisoryTransaction = recipe{
		ID: "advisory-transaction", Shows: sqlservice.NoToken, Hold: sqlservice.Holding(statement("advisory_transaction")),
		Text: "pg_advisory_xact_lock, which the transaction has until it ends.",
	}
)
