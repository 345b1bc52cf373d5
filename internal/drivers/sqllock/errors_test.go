package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

var errReset = errors.New("connection reset")

// once has one statement meet a fault. Those after it are sent as they are.
func (g *gate) once(fault func(ctx context.Context, send func()) error) {
	var met atomic.Bool
	g.on(func(ctx context.Context, send func()) error {
		if !met.Swap(true) {
			return fault(ctx, send)
		}
		send()
		return nil
	})
}

// testRefusal: what the database itself refuses is definite.
func testRefusal(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long, sqllock.Table("missing")))
	_, err := a.Lock(t.Context(), scope)
	if err == nil || !strings.Contains(err.Error(), "missing") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("Lock returned %v (%v), want what the database said, and that it is definite", err, fence.OutcomeOf(err))
	}
}

// testAnswersLost: a lock whose answer is lost is given back, and an unlock is unknown.
func testAnswersLost(t *testing.T, d *sqltest.Database) {
	lost := func(_ context.Context, send func()) error { send(); return errReset }
	db, g := openBy(t, d)
	a, b := on(t, db, d, own(long)), join(t, d, own(long))
	wantUnlock(t, b.take(t)) // there is a row
	g.once(lost)
	_, err := a.Lock(t.Context(), scope)
	if !errors.Is(err, errReset) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("Lock returned %v (%v), want why its answer was lost, and that it is definite: the lock was given back", err, fence.OutcomeOf(err))
	}
	wantUnlock(t, b.take(t))

	tenure := a.take(t)
	g.once(lost)
	err = tenure.Unlock(t.Context())
	unknown := new(lock.UnknownError)
	if !errors.As(err, &unknown) || !errors.Is(err, errReset) || unknown.Op != "unlock" || unknown.Scope != scope {
		t.Errorf("Unlock returned %v, want an UnknownError with its cause", err)
	}
	next := b.take(t)
	if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a second Unlock returned %v, want ErrLost", err)
	}
	a.wantLocked(t)
	wantUnlock(t, next)
}

// testRequestLost: nothing is there to be given back, and the request may still come.
func testRequestLost(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	a := on(t, db, d, own(long))
	g.once(func(context.Context, func()) error { return errReset })
	_, err := a.TryLock(t.Context(), scope)
	unknown := new(lock.UnknownError)
	if !errors.As(err, &unknown) || !errors.Is(err, errReset) || unknown.Op != "trylock" || unknown.Scope != scope {
		t.Errorf("TryLock returned %v, want an UnknownError with its cause", err)
	}
}

// testCancelledLock: what is granted when nobody wants it any more is given back.
func testCancelledLock(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	a, b := on(t, db, d, own(long)), join(t, d, own(long))
	ctx, cancel := context.WithCancel(t.Context())
	g.once(func(_ context.Context, send func()) error {
		send()
		cancel()
		return nil
	})
	_, err := a.Lock(ctx, scope)
	if !errors.Is(err, context.Canceled) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("Lock returned %v (%v), want that it was cancelled, and that it is definite", err, fence.OutcomeOf(err))
	}
	wantUnlock(t, b.take(t))
}

// testCancelledLockWithoutAnAnswer is unknown.
func testCancelledLockWithoutAnAnswer(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	a := on(t, db, d, own(long))
	ctx, cancel := context.WithCancel(t.Context())
	g.on(func(late context.Context, _ func()) error {
		cancel()
		<-late.Done()
		return late.Err()
	})
	_, err := a.Lock(ctx, scope)
	if !errors.Is(err, context.Canceled) || !isUnknown(err) {
		t.Errorf("Lock returned %v, want an UnknownError, and that it was cancelled", err)
	}
}

// testLateAnswer: a lease that was over when the answer came is none.
func testLateAnswer(t *testing.T, d *sqltest.Database) {
	const short = 100 * time.Millisecond
	late := func(_ context.Context, send func()) error {
		asked := time.Now()
		send()
		time.Sleep(time.Until(asked.Add(short))) // the answer takes as long as the lease
		return nil
	}
	db, g := openBy(t, d)
	a := on(t, db, d, own(short))
	g.once(late)
	if tenure, err := a.TryLock(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "the lease was over") {
		t.Errorf("TryLock returned %v, %v, want that the lease was over", tenure, err)
	}
	first := ""
	g.once(func(ctx context.Context, send func()) error {
		return late(ctx, func() {
			send()
			if err := a.db.QueryRowContext(t.Context(), "SELECT owner FROM fence_locks WHERE scope = '/lock'").Scan(&first); err != nil {
				t.Error(err)
			}
		})
	})
	tenure := wantGrant(t, inBackground(t.Context(), a.Lock))
	if g := tenure.Grant(); g.Token < 3 || g.Owner == first {
		t.Errorf("%+v was granted, want a later token than those of the two grants that were late, and another owner than %q", g, first)
	}
}

// testAskedAgain: a statement that the database did not do, because others were in its way,
// is sent again.
func testAskedAgain(t *testing.T, d *sqltest.Database) {
	impatient := map[string]string{"pgx": "lock_timeout=50", "mysql": "innodb_lock_wait_timeout=1"}
	wantUnlock(t, join(t, d, own(long)).take(t)) // there is a row
	there := *d
	if d.Driver == "sqlite" {
		there.Source = strings.Replace(d.Source, "busy_timeout(60000)", "busy_timeout(1)", 1)
	} else {
		there = *with(d, impatient[d.Driver])
	}
	db, g := openBy(t, &there)
	asked := make(chan struct{}, 1000)
	g.on(func(_ context.Context, send func()) error {
		asked <- struct{}{}
		send()
		return nil
	})
	tx := inTheWay(t, d)
	waiting := inBackground(t.Context(), on(t, db, d, own(long)).TryLock)
	for range 2 { // the second time because it was refused
		select {
		case <-asked:
		case r := <-waiting:
			t.Fatalf("TryLock returned %v, %v, and the row is locked", r.tenure, r.err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	wantUnlock(t, wantGrant(t, waiting))
}

// inTheWay is a transaction that has changed the row.
func inTheWay(t *testing.T, d *sqltest.Database) *sql.Tx {
	t.Helper()
	tx, err := d.Open(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // which may be over
	if _, err := tx.ExecContext(t.Context(), "UPDATE fence_locks SET token = token + 1"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// testEndsWithItsContext: also if the row is locked, and the database waits for longer.
func testEndsWithItsContext(t *testing.T, d *sqltest.Database) {
	const held = "/held"
	a := join(t, d, own(long))
	wantUnlock(t, a.take(t)) // the lock is free, and another one is held
	holder, err := a.Lock(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	tx := inTheWay(t, d)
	for name, call := range map[string]func(context.Context) error{
		"TryLock": func(ctx context.Context) error { _, err := a.TryLock(ctx, scope); return err },
		"Lock":    func(ctx context.Context) error { _, err := a.Lock(ctx, scope); return err },
		"Unlock":  holder.Unlock,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), poll)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s returned %v, want that its context is done", name, err)
			}
		case <-time.After(sqltest.Deadline / 4):
			t.Errorf("%s goes on after its context is done", name)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	for a.db.Stats().InUse > 0 { // a statement that nobody waits for is carried out all the same
		time.Sleep(poll)
	}
}

// testSerialization: under a stricter isolation the database fails the second of two
// statements that change a row at once. No caller sees that.
func testSerialization(t *testing.T, d *sqltest.Database) {
	strict := map[string]string{"pgx": "default_transaction_isolation=serializable", "mysql": "tx_isolation='SERIALIZABLE'"}
	there := with(d, strict[d.Driver])
	errs := atOnce(8, func() error {
		a := join(t, there, own(long))
		for range 20 {
			tenure, err := a.Lock(t.Context(), scope)
			if err == nil {
				err = tenure.Unlock(t.Context())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := number(t, d.Open(t), "SELECT token FROM fence_locks"); n != 8*20 {
		t.Errorf("the token is %d, want one for each grant, %d", n, 8*20)
	}
}

// testRowsChangedOrFound: a renewal at the same time by the clock leaves the row as it was,
// and MySQL counts no row that was changed.
func testRowsChangedOrFound(t *testing.T, d *sqltest.Database) {
	for _, counts := range []string{"clientFoundRows=false", "clientFoundRows=true"} {
		t.Run("own, "+counts, func(t *testing.T) {
			db := with(d, counts).Open(t)
			db.SetMaxOpenConns(1)
			execute(t, db, fmt.Sprint("SET timestamp = ", time.Now().Unix())) // the clock of this session stands
			extend(t, on(t, db, d, own(long, sqllock.FixedLease())))
		})
		t.Run("spring, "+counts, func(t *testing.T) {
			db, g := openBy(t, with(d, counts))
			g.rewrite = func(text string) string {
				return strings.Replace(text, "= 1, ?, NULL)", "= 1 AND ? > '', EXPIRED_AFTER, NULL)", 1)
			}
			extend(t, on(t, db, d, spring(long)))
		})
	}
}

func extend(t *testing.T, a party) {
	t.Helper()
	lease := a.take(t).(lock.Extender)
	for range 2 {
		if err := lease.Extend(t.Context(), long); err != nil {
			t.Error(err)
		}
	}
	a.wantLocked(t)
}
