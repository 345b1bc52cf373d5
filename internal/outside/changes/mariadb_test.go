package changes_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/outside/changes"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestMariaDB: what may write is held before it does, as a text and as a prepared statement, and the log has the rows.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	if mariadbproc.Program() == "" {
		need.Program(t, "mariadbd", "to write to")
	}
	server := proctest.Started(t, deadline, func(ctx context.Context, g *proc.Group) (*mariadbproc.Server, error) {
		return mariadbproc.Start(ctx, g, mariadbproc.Program(), "log-bin=binlog", "server-id=1", "binlog-format=ROW", "max-allowed-packet=64M")
	})
	connect := func(addr, database string) *sql.DB {
		c := server.Config()
		c.Addr, c.DBName, c.MultiStatements = addr, database, true
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { db.Close() })
		return db
	}
	direct := connect(server.Addr, "")
	if _, err := direct.Exec("CREATE DATABASE d; USE d; CREATE TABLE a (x text, id int, y varchar(9), PRIMARY KEY (id, y)); CREATE TABLE bare (x int); CREATE TABLE fence_locks (x int)"); err != nil {
		t.Fatal(err)
	}
	a, err := changes.OpenMariaDB(t.Context(), &url.URL{Scheme: "mariadb", User: url.User("root"), Host: server.Addr}, gate.LockTables)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	g, err := gate.OpenTCP(server.Addr, gate.MariaDB)
	if err != nil {
		t.Fatal(err)
	}
	db := connect(g.Addr, "d")
	run := func(statement string, args ...any) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, statement, args...)
			return err
		}
	}
	packets := "SELECT LENGTH('" + strings.Repeat("x", 16<<20) + "'); UPDATE a SET x = 'y'" // its end is in a packet of its own
	lines := "INSERT INTO a VALUES ('\\n### DELETE FROM `d`.`a`', 1, 'it\\'s')"             // a value that is two lines
	see(t, g, a, []asked{
		{"a read", run("SELECT x FROM a FOR UPDATE"), "", nil},
		{"a text", run(lines), lines, []string{`INSERT d.a(id 1, y 'it's')`}},
		{"a long text", run("UPDATE a SET x = '" + strings.Repeat("x", 60000) + "'"), "UPDATE a SET x = '" + strings.Repeat("x", 200-len("UPDATE a SET x = '")) + "…", []string{`UPDATE d.a(id 1, y 'it's')`}},
		{"a prepared statement", run("UPDATE a SET x = ?", "new"), "UPDATE a SET x = ?", []string{`UPDATE d.a(id 1, y 'it's')`}},
		{"one that reads", run("SELECT x FROM a WHERE id = ?", 1), "", nil},
		{"one of two that are prepared", func(ctx context.Context) error {
			writes, err := db.PrepareContext(ctx, "UPDATE a SET x = ?")
			if err != nil {
				return err
			}
			defer writes.Close()
			reads, err := db.PrepareContext(ctx, "SELECT x FROM a WHERE id = ?")
			if err != nil {
				return err
			}
			defer reads.Close()
			_, err = writes.ExecContext(ctx, "newer")
			return err
		}, "UPDATE a SET x = ?", []string{`UPDATE d.a(id 1, y 'it's')`}},
		{"several packets", run(packets), packets[:200] + "…", []string{`UPDATE d.a(id 1, y 'it's')`}},
		{"no row", run("UPDATE a SET x = ? WHERE id = 7", "new"), "UPDATE a SET x = ? WHERE id = 7", nil},
		{"a key that changes", run("UPDATE a SET id = 2"), "UPDATE a SET id = 2", []string{`UPDATE d.a(id 2, y 'it's')`}},
		{"one of SQL", run("PREPARE p FROM 'DELETE FROM a'; EXECUTE p"), "PREPARE p FROM 'DELETE FROM a'; EXECUTE p", []string{`DELETE d.a(id 2, y 'it's')`}},
		{"a transaction", func(ctx context.Context) error {
			tx, err := db.BeginTx(ctx, nil)
			if err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO a VALUES ('x', 3, 'y')")
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO a VALUES ('x', ?, 'y')", 4)
			}
			if err != nil {
				return err
			}
			return tx.Commit()
		}, "INSERT INTO a VALUES ('x', 3, 'y')INSERT INTO a VALUES ('x', ?, 'y')", []string{"INSERT d.a(id 3, y 'y')", "INSERT d.a(id 4, y 'y')"}},
		{"one that is rolled back", func(ctx context.Context) error {
			tx, err := db.BeginTx(ctx, nil)
			if err == nil {
				_, err = tx.ExecContext(ctx, "DELETE FROM a")
			}
			if err != nil {
				return err
			}
			return tx.Rollback()
		}, "DELETE FROM a", nil},
		{"a lock in a table", run("INSERT INTO fence_locks VALUES (1)"), "", nil},
		{"a table as a whole", run("TRUNCATE a"), "TRUNCATE a", []string{"TRUNCATE a"}},
	})
	if _, err := direct.Exec("INSERT INTO d.bare VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Changes(t.Context()); err == nil || !strings.Contains(err.Error(), "d.bare has no primary key") {
		t.Errorf("a table without a primary key: error %v", err)
	}
	db.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
