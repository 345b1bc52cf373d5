package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// TestKept: what was committed is there after the server was killed, and what was not is
// not.
func TestKept(t *testing.T) {
	for name, make := range sqltest.Databases() {
		t.Run(name, func(t *testing.T) {
			d := make(t)
			before := d.Open(t)
			exec(t, before, "CREATE TABLE numbers (n BIGINT PRIMARY KEY)")
			exec(t, before, "INSERT INTO numbers VALUES (1)")
			open, err := before.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, open, "INSERT INTO numbers VALUES (2)")
			if err := d.Kill(); err != nil {
				t.Fatal(err)
			}
			// The server is gone; SQLite, which has none, is told by this.
			_ = open.Rollback()
			ctx, cancel := context.WithTimeout(t.Context(), sqltest.Deadline)
			defer cancel()
			if err := d.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			var n, highest int
			err = d.Open(t).QueryRowContext(ctx, "SELECT COUNT(*), MAX(n) FROM numbers").Scan(&n, &highest)
			if err != nil || n != 1 || highest != 1 {
				t.Errorf("%d rows, the highest %d, %v, want the one that was committed", n, highest, err)
			}
		})
	}
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func exec(t *testing.T, db execer, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(errors.Join(errors.New(statement), err))
	}
}
