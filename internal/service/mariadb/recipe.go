package mariadb

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

type (
	recipe  = sqlservice.Recipe[*link]
	attempt = sqlservice.Attempt
)

// recipes are all of them.
var recipes = []*recipe{&token, &intLock, &intLockDBClock, &springJDBC, &forUpdate, &forUpdateNaive, &getLock, &version, &status}

var token = sqlservice.Token[*link](sqllock.MySQL)

var intLocks = sqlservice.IntLock[*link]{
	Changed: changed,
	Exists:  func(err error) bool { return isNumber(err, duplicateEntry) },
	Now: func(ctx context.Context, l *link) (now time.Time, err error) {
		err = l.QueryRowContext(ctx, "SELECT SYSDATE(6)").Scan(&now)
		return now, err
	},
}

// Those of Spring Integration's JdbcLockRegistry.
var (
	intLock        = intLocks.ByClient()
	intLockDBClock = intLocks.ByDatabase()
)

// calling makes a Hold that calls a procedure. In one request this takes the lock and tells
// the account of it.
func calling(procedure string) func(context.Context, *link, *attempt) error {
	return func(ctx context.Context, l *link, a *attempt) error {
		return exec(ctx, l, "CALL "+procedure+"(?, ?)", a.Lock, a.Owner)
	}
}

// Those that a connection has.
var (
	forUpdate = recipe{
		ID: "for-update", Shows: sqlservice.NoToken, Hold: calling("for_update"),
		Text: "SELECT … FOR UPDATE of a row that is there, in a transaction that the holder keeps open.",
	}
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: sqlservice.NoToken, Hold: calling("for_update_naive"),
		Text: "The same of a row that is inserted where there is none.",
	}
	getLock = recipe{
		ID: "get-lock", Shows: sqlservice.NoToken, Session: true, Hold: calling("take_get_lock"),
		Text: "GET_LOCK, which the session has until RELEASE_LOCK or its end.",
		Release: func(ctx context.Context, l *link, a *attempt) error {
			return exec(ctx, l, "DO RELEASE_LOCK(?)", a.Lock)
		},
	}
)
