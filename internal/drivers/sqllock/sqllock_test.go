package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

func TestBackendsThatCannotBe(t *testing.T) {
	for says, make := range map[string]maker{
		"want whole milliseconds, 1ms or more": own(0),
		"a TTL of 1µs":                         own(time.Microsecond),
		"a TTL of 1.5ms":                       own(1500 * time.Microsecond),
		`Table("locks; DROP TABLE users")`:     own(ttl, sqllock.Table("locks; DROP TABLE users")),
		`Table("")`:                            own(ttl, sqllock.Table("")),
		"Poll(0s)":                             own(ttl, sqllock.Poll(0)),
		"a TTL of 0s":                          spring(0),
		`the dialect "sqlite" has no statement "spri`: spring(ttl),
	} {
		_, err := make(nil, sqllock.SQLite)
		if err == nil || !strings.Contains(err.Error(), says) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v (%v), want %q, and that it is definite", err, fence.OutcomeOf(err), says)
		}
	}
	if _, err := own(ttl)(nil, sqllock.SQLite); err == nil || !strings.Contains(err.Error(), "the database is nil") {
		t.Errorf("without a database: %v", err)
	}
	if _, err := own(ttl)(nil, "oracle"); err == nil {
		t.Error("there is a dialect of Oracle")
	}
	for _, region := range []string{"", strings.Repeat("x", 101)} {
		if _, err := sqllock.Spring(nil, sqllock.PostgreSQL, region, ttl); err == nil {
			t.Errorf("Spring takes the region %q", region)
		}
	}
}

func testScopes(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	for _, scope := range []string{"", "\xff", "a\x00b", strings.Repeat("x", 701)} {
		if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, fence.ErrInvalidScope) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%q: got %v, want ErrInvalidScope", scope, err)
		}
	}
	for _, scope := range []string{"a", "A", "a ", " a", "ä", "Ä", "a\n", "a'b", "a:b", strings.Repeat("ä", 350)} {
		tenure, err := a.TryLock(t.Context(), scope)
		if err != nil {
			t.Fatalf("%q: %v", scope, err)
		}
		defer tenure.Unlock(t.Context())
		if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("%q: got %v, want ErrLocked", scope, err)
		}
	}
}

// testParsedOnce: a connection has a statement parsed once, and keeps it for as long as there
// is a Backend.
func testParsedOnce(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	db.SetMaxOpenConns(1)
	a := on(t, db, d, own(long))
	for range 10 {
		tenure, err := a.Lock(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		wantUnlock(t, tenure)
	}
	if n := g.parsed.Load(); n != 4 {
		t.Errorf("%d statements were parsed, want 4, which take a lock, look at it, make its row and free it", n)
	}
	closed := make(chan struct{})
	go func() { g.prepared.Wait(); close(closed) }()
	for late := time.After(sqltest.Deadline); ; {
		runtime.GC() // nobody has the Backend any more, once what the last tenure began has ended
		select {
		case <-closed:
			return
		case <-late:
			t.Fatal("a statement is kept")
		case <-time.After(time.Millisecond):
		}
	}
}

func testExtensionsTakeTurns(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	lease := on(t, db, d, own(long, sqllock.FixedLease())).take(t).(lock.Extender)
	drivertest.ExtensionsTakeTurns(t, lease, long, func(answer func()) {
		g.on(func(_ context.Context, send func()) error {
			send()
			answer()
			return nil
		})
	})
}

func testLateExtension(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	lease := on(t, db, d, own(long, sqllock.FixedLease())).take(t).(lock.Extender)
	drivertest.LateExtension(t, lease, long, func(onItsWay func()) {
		g.on(func(ctx context.Context, send func()) error {
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				onItsWay()
				send()
			}()
			select {
			case <-sent:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
}

// testNoCommit: sessions that do not commit are refused: two clients would get one token.
func testNoCommit(t *testing.T, d *sqltest.Database) {
	a, b := join(t, with(d, "autocommit=0"), own(long)), join(t, d, own(long))
	if tenure, err := a.TryLock(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "autocommit=1") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v, %v, want that the sessions do not commit", tenure, err)
	}
	wantUnlock(t, b.take(t))
}

// testRow: what others see of a lock, and that its row stays.
func testRow(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	row := func() (r struct {
		owner string
		token fence.Token
	}) {
		t.Helper()
		err := a.db.QueryRowContext(t.Context(), "SELECT owner, token FROM fence_locks WHERE scope = '/lock'").Scan(&r.owner, &r.token)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for token := range fence.Token(3) {
		tenure := a.take(t)
		if g, r := tenure.Grant(), row(); g.Token != token+1 || g.Token != r.token || g.Owner != r.owner {
			t.Errorf("%+v was granted, and the row has %+v, want the token %d", g, r, token+1)
		}
		wantUnlock(t, tenure)
		if r := row(); r.owner != "" || r.token != token+1 {
			t.Errorf("the lock is free, and the row has %+v, want no owner, and the token %d", r, token+1)
		}
	}
}

// testTokenOf64Bits: floating point would confuse neighbours.
func testTokenOf64Bits(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	wantUnlock(t, a.take(t))
	execute(t, a.db, fmt.Sprint("UPDATE fence_locks SET token = ", 1<<62))
	tenure := a.take(t)
	if token := tenure.Grant().Token; token != 1<<62+1 {
		t.Errorf("the token is %d, want %d", token, fence.Token(1<<62+1))
	}
	wantUnlock(t, tenure)
}

// testTrigger: a trigger that writes down who had the lock, in rows with numbers of their own,
// leaves the tokens as they are.
func testTrigger(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	for _, statement := range auditing[d.Driver] {
		execute(t, a.db, statement)
	}
	for token := range fence.Token(3) {
		tenure := a.take(t)
		if got := tenure.Grant().Token; got != token+1 {
			t.Errorf("the token is %d, want %d", got, token+1)
		}
		wantUnlock(t, tenure)
	}
	if n := number(t, a.db, "SELECT COUNT(*) FROM audit WHERE owner <> ''"); n != 2 {
		t.Errorf("the trigger has told of %d owners, want 2: the first is inserted", n)
	}
}

// auditing makes a trigger.
var auditing = map[string][]string{
	"pgx": {
		"DROP TABLE IF EXISTS audit", "CREATE TABLE audit (number serial PRIMARY KEY, owner text)",
		"CREATE OR REPLACE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit (owner) VALUES (NEW.owner); RETURN NEW; END'",
		"CREATE TRIGGER audit AFTER UPDATE ON fence_locks FOR EACH ROW EXECUTE FUNCTION tell()",
	},
	"mysql": {
		"DROP TABLE IF EXISTS audit", "CREATE TABLE audit (number bigint AUTO_INCREMENT PRIMARY KEY, owner varchar(36)) AUTO_INCREMENT = 500",
		"CREATE TRIGGER audit AFTER UPDATE ON fence_locks FOR EACH ROW INSERT INTO audit (owner) VALUES (NEW.owner)",
	},
	"sqlite": {
		"DROP TABLE IF EXISTS audit", "CREATE TABLE audit (number integer PRIMARY KEY, owner text)",
		"CREATE TRIGGER audit AFTER UPDATE ON fence_locks BEGIN INSERT INTO audit (owner) VALUES (NEW.owner); END",
	},
}

// testCreate: several programs create the table as they start.
func testCreate(t *testing.T, d *sqltest.Database) {
	db := d.Open(t)
	execute(t, db, "DROP TABLE fence_locks")
	made := atOnce(5, func() error { return sqllock.Create(t.Context(), db, dialect(d)) })
	if err := errors.Join(made...); err != nil {
		t.Error(err)
	}
	wantUnlock(t, on(t, db, d, own(long)).take(t))
}

// atOnce calls so many at once, and returns their errors.
func atOnce(n int, call func() error) (all []error) {
	errs := make(chan error)
	for range n {
		go func() { errs <- call() }()
	}
	for range n {
		all = append(all, <-errs)
	}
	return all
}

// testFirstUse: of those who come to a new scope at once one gets the lock.
func testFirstUse(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	for i := range 20 {
		got := atOnce(8, func() error {
			tenure, err := a.TryLock(t.Context(), fmt.Sprint(scope, i))
			if err == nil {
				endWith(t, tenure)
			}
			return err
		})
		granted := 0
		for _, err := range got {
			switch {
			case err == nil:
				granted++
			case !errors.Is(err, lock.ErrLocked):
				t.Errorf("TryLock returned %v, want ErrLocked", err)
			}
		}
		if granted != 1 {
			t.Errorf("%d have the lock, want one", granted)
		}
	}
}

// testTable: locks of two tables have nothing to do with one another.
func testTable(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	other := schema(t, a.db, d) + ".others"
	if err := sqllock.Create(t.Context(), a.db, dialect(d), sqllock.Table(other)); err != nil {
		t.Fatal(err)
	}
	b := join(t, d, own(long, sqllock.Table(other)))
	a.take(t)
	b.take(t)
	if n := number(t, a.db, "SELECT COUNT(*) FROM "+other); n != 1 {
		t.Errorf("the other table has %d rows, want one", n)
	}
}

// testLossIsTold: a renewal sees it, and does not take the lock again.
func testLossIsTold(t *testing.T, d *sqltest.Database) {
	past := map[string]string{"pgx": "now() - interval '1 second'", "mysql": "UTC_TIMESTAMP() - INTERVAL 1 SECOND", "sqlite": "0"}
	a, b := join(t, d, own(3*ttl)), join(t, d, own(long)) // a renewal is answered in time
	for name, lose := range map[string]string{
		"another's": "UPDATE fence_locks SET owner = 'another'",
		"free":      "UPDATE fence_locks SET owner = ''",
		"expired":   "UPDATE fence_locks SET expires = " + past[d.Driver],
		"gone":      "DELETE FROM fence_locks",
	} {
		t.Run(name, func(t *testing.T) {
			tenure := a.take(t)
			execute(t, a.db, lose)
			wantEnd(t, tenure, lock.ErrLost)
			if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Unlock returned %v, want ErrLost", err)
			}
			execute(t, a.db, "UPDATE fence_locks SET owner = ''")
			wantUnlock(t, b.take(t))
		})
	}
}

// testZones: clients in several time zones have one clock.
func testZones(t *testing.T, d *sqltest.Database) {
	zone := map[string]string{"pgx": "timezone=%s", "mysql": "parseTime=true&loc=Asia%%2FTokyo&time_zone='%s'"}[d.Driver]
	for name, make := range map[string]maker{"own": own(long), "spring": spring(long)} {
		t.Run(name, func(t *testing.T) {
			in := func(name string) party { return join(t, with(d, fmt.Sprintf(zone, name)), make) }
			parties := []party{in("%2B05:00"), in("-08:00"), join(t, d, make)}
			for _, a := range parties {
				holder := a.take(t)
				for _, b := range parties {
					b.wantLocked(t)
				}
				wantUnlock(t, holder)
			}
		})
	}
}

// testWaitersLeaveThePoolAlone: a waiter has a connection only while it asks.
func testWaitersLeaveThePoolAlone(t *testing.T, d *sqltest.Database) {
	holder := join(t, d, own(long)).take(t)
	db, g := openBy(t, d)
	db.SetMaxOpenConns(1)
	b := on(t, db, d, own(long))
	asked := make(chan struct{}, 1000)
	g.on(func(_ context.Context, send func()) error {
		send()
		asked <- struct{}{}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting []<-chan result
	for range 5 {
		waiting = append(waiting, inBackground(ctx, b.Lock))
	}
	for range 50 {
		select {
		case <-asked:
		case <-time.After(sqltest.Deadline):
			t.Fatal("the waiters ask no more")
		}
	}
	if n := number(t, db, "SELECT COUNT(*) FROM fence_locks"); n != 1 {
		t.Errorf("there are %d rows, want one", n)
	}
	cancel()
	for _, one := range waiting {
		if r := <-one; !errors.Is(r.err, context.Canceled) {
			t.Errorf("Lock returned %v, want that it was cancelled", r.err)
		}
	}
	wantUnlock(t, holder)
}

// testWaiterIsServed when the lock is given back, and when its lease ends.
func testWaiterIsServed(t *testing.T, d *sqltest.Database) {
	a, b := join(t, d, own(ttl, sqllock.FixedLease())), join(t, d, own(long))
	holder := a.take(t)
	waiting := inBackground(t.Context(), b.Lock)
	wantUnlock(t, holder)
	wantUnlock(t, wantGrant(t, waiting))
	a.take(t)
	wantUnlock(t, wantGrant(t, inBackground(t.Context(), b.Lock)))
}

// testKilledServer: who waits is told, and the holder goes on when the server does.
func testKilledServer(t *testing.T, d *sqltest.Database) {
	a, b := join(t, d, own(long)), join(t, d, own(long))
	a.db.SetMaxIdleConns(0) // none is kept that breaks
	holder := a.take(t)
	waiting := inBackground(t.Context(), b.Lock)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := <-waiting; r.err == nil || fence.OutcomeOf(r.err) != fence.Definite && !isUnknown(r.err) {
		t.Errorf("Lock returned %v, want an error that is definite, or says that it is not", r.err)
	}
	if err := d.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = join(t, d, own(long))
	b.wantLocked(t)
	wantUnlock(t, holder)
	next := b.take(t)
	if was, is := holder.Grant().Token, next.Grant().Token; is <= was {
		t.Errorf("the token is %d after the restart, and was %d before", is, was)
	}
	wantUnlock(t, next)
}

func isUnknown(err error) bool {
	unknown := new(lock.UnknownError)
	return errors.As(err, &unknown)
}
