package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/for_update.sql
	forUpdateLock string
	//go:embed sql/naive_find.sql
	naiveFind string
	//go:embed sql/naive_insert.sql
	naiveInsert string
)

var (
	// forUpdate has one row for each lock, which was there before.
	forUpdate = recipe{
		ID: "for-update", Shows: noToken,
		Text: "SELECT … FOR UPDATE of a row that is there, in a transaction that the holder keeps open.",
		Hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, forUpdateLock, a.Lock, a.Owner)
			return err
		},
	}
	// forUpdateNaive locks what it finds, and where it finds nothing it locks nothing.
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: noToken,
		Text: "The same of a row that is inserted where there is none, in a table without a unique name.",
		Hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			found, err := changed(ctx, conn, naiveFind, a.Lock, a.Owner)
			if found || err != nil {
				return err
			}
			_, err = conn.Exec(ctx, naiveInsert, a.Lock, a.Owner)
			return err
		},
	}
)
