package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
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
		ID: "advisory", Shows: noToken, Session: true,
		Text: "pg_advisory_lock, which the session has until it unlocks or ends.",
		Hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, advisoryLock, a.Lock, a.Owner)
			return err
		},
		Release: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			var had bool
			if err := conn.QueryRow(ctx, advisoryFree, a.Lock).Scan(&had); err != nil || had {
				return err
			}
			return sqlservice.ErrElsewhere
		},
	}
	// advisoryTransaction is one that the transaction has.
	advisoryTransaction = recipe{
		ID: "advisory-transaction", Shows: noToken,
		Text: "pg_advisory_xact_lock, which the transaction has until it ends.",
		Hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, advisoryTransactionLock, a.Lock, a.Owner)
			return err
		},
	}
)
