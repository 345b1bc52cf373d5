package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// A recipe has a file of its own, and its statements in the folder sql.
type (
	recipe  = sqlservice.Recipe[*pgx.Conn]
	attempt = sqlservice.Attempt
)

var token = sqlservice.Token[*pgx.Conn](sqllock.PostgreSQL)

// recipes are all of them.
var recipes = []*recipe{&token, &intLock, &intLockDBClock, &springJDBC, &forUpdate, &forUpdateNaive, &advisory, &advisoryTransaction, &version, &status}

// noToken is what recipes show that have no number.
const noToken = sqlservice.NoToken
