package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

//go:embed sql/resource_look.sql
var resourceLook string

// Those that keep nobody out. Everybody reads, and has a tenure at once, which goes on as
// long as the row is as it was read.
var (
	version = recipe{
		ID: "version", Shows: history.ShowsGrant,
		Text: "No lock: a version in the row of the data, which each UPDATE makes one higher, and compares with the one that the client has read.",
		Read: look("version", messageReads), Leave: look("version", messageEnds),
		Same: func(read, now sqlservice.Seen) bool { return read.Version == now.Version },
	}
	status = recipe{
		ID: "status", Shows: noToken,
		Text: "No lock: as version, but the UPDATE compares the value of the key status.",
		Read: look("status", messageReads), Leave: look("status", messageEnds),
		Same: func(read, now sqlservice.Seen) bool { return read.StatusText() == now.StatusText() },
	}
)

// look reads the row by a recipe, and has a message tell of it.
func look(by, message string) sqlservice.Looking[*pgx.Conn] {
	return func(ctx context.Context, conn *pgx.Conn, a *attempt) (seen sqlservice.Seen, err error) {
		err = conn.QueryRow(ctx, resourceLook, a.Lock, message, a.Owner, by).Scan(&seen.Version, &seen.Status, nil)
		return seen, err
	}
}
