package sqllock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// listening listens by a connection of db, and reports each time that it begins.
func listening(db *sql.DB, begun chan<- struct{}) sqllock.Listen {
	return func(ctx context.Context, channel string, got func(string)) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(c any) error {
			pg := c.(*stdlib.Conn).Conn()
			if _, err := pg.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
				return err
			}
			got("")
			select {
			case begun <- struct{}{}:
			default:
			}
			for {
				news, err := pg.WaitForNotification(ctx)
				if err != nil {
					return driver.ErrBadConn
				}
				got(news.Payload)
			}
		})
	}
}

// never is a poll that no test waits for.
const never = 1000 * time.Hour

// notified is a party whose waiters are told, and do not look by themselves.
func notified(t *testing.T, d *sqltest.Database) (p party, begun <-chan struct{}) {
	t.Helper()
	db, begins := d.Open(t), make(chan struct{}, 100)
	return on(t, db, d, own(long, sqllock.Poll(never), sqllock.Notify(listening(db, begins)))), begins
}

// testNotified: who waits is told when the lock is free; of two who wait in one Backend both get it.
func testNotified(t *testing.T, d *sqltest.Database) {
	holder, _ := notified(t, d)
	waiter, begun := notified(t, d)
	tenure := holder.take(t)
	first, second := inBackground(t.Context(), waiter.Lock), inBackground(t.Context(), waiter.Lock)
	<-begun
	if err := tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	var one result
	select {
	case one = <-first:
		first = second
	case one = <-second:
	}
	if one.err != nil {
		t.Fatal(one.err)
	}
	if err := one.tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := wantGrant(t, first).Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tenure.Unlock(t.Context()); err == nil {
		t.Error("a second unlock frees something")
	}
}

// testNotifiedAgain: where the connection breaks that listens, another one does.
func testNotifiedAgain(t *testing.T, d *sqltest.Database) {
	holder, _ := notified(t, d)
	waiter, begun := notified(t, d)
	tenure := holder.take(t)
	granted := inBackground(t.Context(), waiter.Lock)
	<-begun
	execute(t, holder.db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	<-begun
	if err := tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := wantGrant(t, granted).Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNotifyIsForPostgreSQL says so where it is not.
func TestNotifyIsForPostgreSQL(t *testing.T) {
	listen := sqllock.Notify(func(context.Context, string, func(string)) error { return nil })
	db := sqltest.SQLite(t).Open(t)
	const notHere = "Notify is for New with PostgreSQL"
	for _, tt := range []struct {
		says string
		make func() (*sqllock.Backend, error)
	}{
		{notHere, func() (*sqllock.Backend, error) { return sqllock.New(db, sqllock.SQLite, ttl, listen) }},
		{notHere, func() (*sqllock.Backend, error) {
			return sqllock.Spring(db, sqllock.PostgreSQL, sqllock.SpringRegion, ttl, listen)
		}},
		{"the name of a table in 63 bytes", func() (*sqllock.Backend, error) {
			return sqllock.New(db, sqllock.PostgreSQL, ttl, listen, sqllock.Table(strings.Repeat("t", 64)))
		}},
	} {
		if _, err := tt.make(); err == nil || !strings.Contains(err.Error(), tt.says) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v, want %q", err, tt.says)
		}
	}
}
