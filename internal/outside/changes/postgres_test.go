package changes_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencelab/fencelab/internal/outside/changes"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
)

// TestPostgres: what may write is held before it does, whichever part of the protocol it comes by, and the log has the rows.
func TestPostgres(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t, "to write to")
	server := proctest.Started(t, deadline, func(ctx context.Context, g *proc.Group) (*postgresproc.Server, error) {
		return postgresproc.Start(ctx, g, postgresproc.Program(), "wal_level=logical")
	})
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.OpenTCP(at.Host, gate.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	a, err := changes.OpenPostgres(t.Context(), server.URL(), gate.LockTables)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	direct, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(t.Context())
	if _, err := direct.Exec(t.Context(), `CREATE TABLE a (x text, id int, "a b" text, PRIMARY KEY (id, "a b")); CREATE TABLE bare (x int); CREATE TABLE fence_locks (x int)`); err != nil {
		t.Fatal(err)
	}
	at.Host = g.Addr
	conn, err := pgx.Connect(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string, args ...any) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := conn.Exec(ctx, sql, args...)
			return err
		}
	}
	see(t, g, a, []asked{
		{"a read", run("SELECT x FROM a FOR UPDATE"), "", nil},
		{"a simple query", run("INSERT INTO a VALUES ('id[integer]:9', 1, 'c ''d')", pgx.QueryExecModeSimpleProtocol), "INSERT INTO a VALUES ('id[integer]:9', 1, 'c ''d')", []string{"INSERT public.a(id 1, a b 'c ''d')"}},
		{"a prepared statement", run("UPDATE a SET x = $1", "new"), "UPDATE a SET x = $1", []string{"UPDATE public.a(id 1, a b 'c ''d')"}},
		{"the same again", run("UPDATE a SET x = $1", "newer"), "UPDATE a SET x = $1", []string{"UPDATE public.a(id 1, a b 'c ''d')"}},
		{"a commit that is not waited for", run("SET synchronous_commit = off; UPDATE a SET x = 'later'", pgx.QueryExecModeSimpleProtocol), "SET synchronous_commit = off; UPDATE a SET x = 'later'", []string{"UPDATE public.a(id 1, a b 'c ''d')"}},
		{"no row", run("UPDATE a SET x = $1 WHERE id = 7", "new"), "UPDATE a SET x = $1 WHERE id = 7", nil},
		{"a key that changes", run("UPDATE a SET id = 2"), "UPDATE a SET id = 2", []string{"UPDATE public.a(id 2, a b 'c ''d')"}},
		{"one of SQL", run("PREPARE p AS DELETE FROM a; EXECUTE p", pgx.QueryExecModeSimpleProtocol), "PREPARE p AS DELETE FROM a; EXECUTE p", []string{"DELETE public.a(id 2, a b 'c ''d')"}},
		{"a transaction that is rolled back", func(ctx context.Context) error {
			tx, err := conn.Begin(ctx)
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO a VALUES ('x', 3, 'y')")
			}
			if err != nil {
				return err
			}
			return tx.Rollback(ctx)
		}, "INSERT INTO a VALUES ('x', 3, 'y')", nil},
		{"a pipeline in one transaction", func(ctx context.Context) error {
			b := new(pgx.Batch)
			b.Queue("SELECT 1")
			b.Queue("INSERT INTO a VALUES ('x', $1, 'y')", 4)
			b.Queue("INSERT INTO a VALUES ('x', $1, 'z')", 5)
			return conn.SendBatch(ctx, b).Close()
		}, "INSERT INTO a VALUES ('x', $1, 'y'); INSERT INTO a VALUES ('x', $1, 'z')", []string{"INSERT public.a(id 4, a b 'y')", "INSERT public.a(id 5, a b 'z')"}},
		{"a pipeline of two transactions", func(ctx context.Context) error {
			p := conn.PgConn().StartPipeline(ctx)
			for _, id := range []string{"6", "7"} {
				p.SendQueryParams("INSERT INTO a VALUES ('x', $1, 'y')", [][]byte{[]byte(id)}, nil, nil, nil)
				if err := p.Sync(); err != nil {
					return err
				}
			}
			for range 4 {
				r, err := p.GetResults()
				if err != nil {
					return err
				}
				if rows, is := r.(*pgconn.ResultReader); is {
					if _, err := rows.Close(); err != nil {
						return err
					}
				}
			}
			return p.Close()
		}, "INSERT INTO a VALUES ('x', $1, 'y')INSERT INTO a VALUES ('x', $1, 'y')", []string{"INSERT public.a(id 6, a b 'y')", "INSERT public.a(id 7, a b 'y')"}},
		{"a copy", func(ctx context.Context) error {
			_, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("x\t8\ty\n"), "COPY a FROM STDIN")
			return err
		}, "COPY a FROM STDIN", []string{"INSERT public.a(id 8, a b 'y')"}},
		{"a lock in a table", run("INSERT INTO fence_locks VALUES (1)"), "", nil},
		{"a table as a whole", run("TRUNCATE a"), "TRUNCATE a", []string{"TRUNCATE public.a"}},
	})
	if _, err := direct.Exec(t.Context(), "INSERT INTO bare VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Changes(t.Context()); err == nil || !strings.Contains(err.Error(), "public.bare has no primary key") {
		t.Errorf("a table without a primary key: error %v", err)
	}
	conn.Close(t.Context())
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
