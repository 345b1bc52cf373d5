package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// testRestartedServer: connections of the pool are dead, and no caller notices.
func testRestartedServer(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	restart := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), sqltest.Deadline)
		defer cancel()
		if err := errors.Join(d.Kill(), d.Restart(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	wantUnlock(t, a.take(t))
	restart()
	tenure := a.take(t)
	restart()
	wantUnlock(t, tenure)
}

// testClosedConnection: what the statement did before the connection was closed is found out.
func testClosedConnection(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	a, b := on(t, db, d, own(long)), join(t, d, own(long))
	wantUnlock(t, b.take(t)) // there is a row
	for _, done := range []bool{false, true} {
		fault := func(_ context.Context, send func()) error {
			if done {
				send()
			}
			return io.ErrUnexpectedEOF
		}
		g.once(fault)
		tenure := a.take(t)
		g.once(fault)
		err := tenure.Unlock(t.Context())
		if !done && err != nil || done && (!isUnknown(err) || errors.Is(err, lock.ErrLost)) {
			t.Errorf("carried out: %v; Unlock returned %v (%v)", done, err, fence.OutcomeOf(err))
		}
		wantUnlock(t, b.take(t))
	}
	// The second time it is not tried again.
	g.on(func(context.Context, func()) error { return io.ErrUnexpectedEOF })
	if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, io.ErrUnexpectedEOF) || !isUnknown(err) {
		t.Errorf("TryLock returned %v (%v), want that the connection was closed, and that the outcome is unknown", err, fence.OutcomeOf(err))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := a.Lock(ctx, scope); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Lock returned %v, want that the connection was closed", err)
	}
}

// testDeadPool: all connections of the pool were closed by the other side, and each says so by the next statement alone.
func testDeadPool(t *testing.T, d *sqltest.Database) {
	db, g := openBy(t, d)
	const pool = 3
	db.SetMaxIdleConns(pool)
	var opened []*sql.Conn
	for range pool {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, c)
	}
	for _, c := range opened {
		c.Close()
	}
	a := on(t, db, d, own(long, sqllock.FixedLease()))
	wantUnlock(t, a.take(t)) // there is a row
	var dead atomic.Int64
	g.on(func(_ context.Context, send func()) error {
		if dead.Add(-1) >= 0 {
			return io.ErrUnexpectedEOF
		}
		send()
		return nil
	})
	dead.Store(pool)
	tenure := a.take(t)
	dead.Store(pool)
	if err := tenure.(lock.Extender).Extend(t.Context(), long); err != nil {
		t.Errorf("Extend: %v", err)
	}
	dead.Store(pool)
	wantUnlock(t, tenure)
}

// testNobodyListens: what was not sent was not done.
func testNobodyListens(t *testing.T, d *sqltest.Database) {
	there, link, err := linked(*d)
	if err != nil {
		t.Fatal(err)
	}
	link.Close()
	a := join(t, &there, own(long))
	if _, err := a.TryLock(t.Context(), scope); err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("TryLock returned %v (%v), want that it is definite", err, fence.OutcomeOf(err))
	}
}
