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
		name: "for-update", shows: noToken,
		about: "SELECT … FOR UPDATE of a row that is there, in a transaction that the holder keeps open.",
		hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			_, err := conn.Exec(ctx, forUpdateLock, a.lock, a.owner)
			return err
		},
	}
	// forUpdateNaive locks what it finds, and where it finds nothing it locks nothing.
	forUpdateNaive = recipe{
		name: "for-update-naive", shows: noToken,
		about: "The same of a row that is inserted where there is none, in a table without a unique name.",
		hold: func(ctx context.Context, conn *pgx.Conn, a *attempt) error {
			found, err := changed(ctx, conn, naiveFind, a.lock, a.owner)
			if found || err != nil {
				return err
			}
			_, err = conn.Exec(ctx, naiveInsert, a.lock, a.owner)
			return err
		},
	}
)
