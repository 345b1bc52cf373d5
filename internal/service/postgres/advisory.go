package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/advisory.sql
	advisoryLock string
	//go:embed sql/advisory_free.sql
	advisoryFree string
	//go:embed sql/advisory_transaction.sql
	advisoryTransactionLock string
)

var (
	// advisory is a lock on a number, which the session has.
	advisory = recipe{
		name: "advisory", shows: noToken, session: true,
		about: "pg_advisory_lock, which the session has until it unlocks or ends.",
		hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, advisoryLock, a.lock, a.owner)
			return err
		},
		release: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, advisoryFree, a.lock)
			return err
		},
	}
	// advisoryTransaction is one that the transaction has.
	advisoryTransaction = recipe{
		name: "advisory-transaction", shows: noToken,
		about: "pg_advisory_xact_lock, which the transaction has until it ends.",
		hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, advisoryTransactionLock, a.lock, a.owner)
			return err
		},
	}
)
