package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// recipe is a way to take a lock that people use. Each has a file of its own, and its
// statements in the folder sql. It is one of two kinds: a row that says who holds the lock
// until when, or a lock that a connection has.
type recipe struct {
	name, about string
	// shows is what the number that it gives is, as in history.Run.Tokens.
	shows string

	// take makes one attempt to have the row say that the lock is the client's. free
	// undoes that, and reports whether it was so.
	take, free func(ctx context.Context, conn *pgx.Conn, a *attempt) (done bool, err error)
	// hold waits until the connection has the lock. release gives it back: where there
	// is none the end of the transaction does so.
	hold, release func(ctx context.Context, conn *pgx.Conn, a *attempt) error
	session       bool // the lock is the session's, and not a transaction's
}

// recipes are all of them.
var recipes = []*recipe{&token, &intLock, &intLockDBClock, &forUpdate, &forUpdateNaive, &advisory, &advisoryTransaction}

// attempt is one to take a lock, and what came of it.
type attempt struct {
	lock, owner string
	settings    setting.Values
	token       fence.Token // that was given
}

func (a *attempt) ttl() time.Duration { return a.settings.Time(setting.TTL) }

// Name implements service.Recipe, as the one below does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// noToken is what recipes show that have no number.
const noToken = history.ShowsNone

// changed runs a statement, and reports whether it changed a row.
func changed(ctx context.Context, conn *pgx.Conn, statement string, args ...any) (bool, error) {
	tag, err := conn.Exec(ctx, statement, args...)
	return err == nil && tag.RowsAffected() > 0, err
}
