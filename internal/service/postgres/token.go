package postgres

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

//go:embed sql/token_take.sql
var tokenTake string

var token = sqlservice.Token(func(ctx context.Context, conn *pgx.Conn, a *attempt) (bool, error) {
	err := conn.QueryRow(ctx, tokenTake, a.Lock, a.Owner, a.TTL().Seconds()).Scan(&a.Token)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}, changed)
