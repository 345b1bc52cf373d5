package postgres

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
)

var (
	//go:embed sql/token_take.sql
	tokenTake string
	//go:embed sql/token_free.sql
	tokenFree string
)

// token is a row with an owner, the end of the lease by the database's clock, and a number
// that grows in the statement that takes the lock.
var token = recipe{
	name: "token", shows: history.ShowsGrant,
	about: "A row with its owner, the end of its lease by the database's clock, and a token, which the UPDATE that takes the lock makes one higher.",
	take: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
		err := conn.QueryRow(ctx, tokenTake, a.lock, a.owner, a.ttl().Seconds()).Scan(&a.token)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	},
	free: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
		return changed(ctx, conn, tokenFree, a.lock, a.owner)
	},
}
