package mariadb

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

var recipes = []*recipe{&token, &intLock, &intLockDBClock, &springJDBC, &forUpdate, &forUpdateNaive, &getLock, &version, &status}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.MySQL)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(now)
	springJDBC     = sqlservice.SpringJDBC()
	version        = sqlservice.Version(look)
	status         = sqlservice.Status(look)
)

func now(ctx context.Context, conn sqlservice.Conn) (now time.Time, err error) {
	err = conn.Row(ctx, "SELECT SYSDATE(6)").Scan(&now)
	return now, err
}

// Those that a connection has. In one request a procedure takes the lock and tells the account of it.
var (
	forUpdate = recipe{
		ID: "for-update", Shows: sqlservice.NoToken, Hold: sqlservice.Holding("CALL for_update($1, $2)"),
		Text: "SELECT … FOR UPDATE of a row that is there; the holder keeps the transaction open.",
	}
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: sqlservice.NoToken, Hold: sqlservice.Holding("CALL for_update_naive($1, $2)"),
		Text: "As for-update, of a row that is inserted where there is none.",
	}
	getLock = recipe{
		ID: "get-lock", Shows: sqlservice.NoToken, Session: true, Hold: sqlservice.Holding("CALL take_get_lock($1, $2)"),
		Text:    "GET_LOCK, which the session has until RELEASE_LOCK or its end.",
		Release: sqlservice.Holding("DO RELEASE_LOCK($1)"),
	}
)
