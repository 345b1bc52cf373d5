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
	ID: "token", Shows: history.ShowsGrant,
	Text: "A row with its owner, the end of its lease by the database's clock, and a token, which the UPDATE that takes the lock makes one higher.",
	Take: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
		err := conn.QueryRow(ctx, tokenTake, a.Lock, a.Owner, a.TTL().Seconds()).Scan(&a.Token)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	},
	Free: func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
		return changed(ctx, conn, tokenFree, a.Lock, a.Owner)
	},
}
