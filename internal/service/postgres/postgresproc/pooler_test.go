package postgresproc_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
)

// TestPooler: what a session has stays with a client in session mode, and with a session in
// transaction mode.
func TestPooler(t *testing.T) {
	postgrestest.NeedPooler(t)
	group := proctest.Group(t)
	server, err := postgresproc.Start(t.Context(), group, postgresproc.Program())
	if err != nil {
		t.Fatal(err)
	}
	for mode, kept := range map[string]bool{"session": true, "transaction": false} {
		pooler, err := postgresproc.StartPooler(t.Context(), group, postgresproc.PoolerProgram(), server.Addr, mode, 2)
		if err != nil {
			t.Fatal(err)
		}
		one, other := session(t, pooler.Addr), session(t, pooler.Addr)
		first := process(t, one)
		if _, err := other.Exec(t.Context(), "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if got := process(t, one) == first; got != kept {
			t.Errorf("in %s mode a client has kept its session: %v, want %v", mode, got, kept)
		}
	}
}

// session is a connection through a pooler.
func session(t *testing.T, addr string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://" + addr + "/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// process is the number of the process that serves a connection.
func process(t *testing.T, conn *pgx.Conn) (pid int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}
