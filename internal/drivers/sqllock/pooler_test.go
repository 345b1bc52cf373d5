package sqllock_test

import (
	"context"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
)

// TestLawsBehindAPooler: each statement is a transaction of its own, so that it does not matter
// which session of the pooler has it. Laws of clients that crash are left out: pgx cancels what
// they wait for, and this pooler can send that to the session of another client.
func TestLawsBehindAPooler(t *testing.T) {
	postgrestest.NeedPooler(t)
	pooler := proctest.Started(t, sqltest.Deadline, func(ctx context.Context, g *proc.Group) (*proc.Node, error) {
		server, err := postgresproc.Start(ctx, g, postgresproc.Program())
		if err != nil {
			return nil, err
		}
		return postgresproc.StartPooler(ctx, g, postgresproc.PoolerProgram(), server.Addr, "transaction", 3)
	})
	// A pooler in this mode may not know statements that pgx has prepared in another session.
	d := &sqltest.Database{Driver: "pgx", Source: "postgres://" + pooler.Addr + "/postgres?sslmode=disable&default_query_exec_mode=exec"}
	s := subject(t, withTables(t, d), kinds[0], ttl)
	for _, law := range []string{
		"one tenure at a time", "many contenders come in one at a time", "tokens grow under racing clients",
		"a second unlock frees nothing", "a living holder that has waited keeps the lock", "who holds a lock can be asked",
	} {
		t.Run(law, func(t *testing.T) {
			if err := drivertest.Law(t, law).Check(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}
