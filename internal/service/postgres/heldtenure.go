package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

// PostgreSQL's words for a wait that took longer than lock_timeout, and for a request that
// was cancelled.
const (
	lockNotAvailable = "55P03"
	queryCanceled    = "57014"
)

// begin connects, and begins the transaction in which the recipe takes the lock, if it is
// a transaction that has it.
func (w *asking) begin(ctx context.Context) (*pgx.Conn, error) {
	conn, err := w.place.connect(ctx, databaseOf(w.attempt.lock))
	if err != nil || w.recipe.session {
		return conn, err
	}
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// tryHold asks once, and gives up where it would have to wait.
func (w *asking) tryHold(ctx context.Context) (service.Tenure, error) {
	conn, err := w.begin(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SET lock_timeout = '1ms'"); err != nil {
		hangUp(conn)
		return nil, err
	}
	err = w.recipe.hold(ctx, conn, &w.attempt)
	if isCode(err, lockNotAvailable) {
		hangUp(conn)
		return nil, lock.ErrLocked
	}
	return w.held(ctx, conn, err)
}

// hold waits until the lock is the connection's, or ctx is done: then it has the request
// cancelled, and waits for what comes of that.
func (w *asking) hold(ctx context.Context, stands func()) (service.Tenure, error) {
	conn, err := w.begin(ctx)
	if err != nil {
		return nil, err
	}
	late, stop := service.Patient(ctx, func() {
		cancel, stop := context.WithTimeout(context.Background(), service.LastAnswer)
		defer stop()
		_ = conn.PgConn().CancelRequest(cancel) // else the answer comes too late
	})
	defer stop()
	if stands != nil {
		go w.watchWait(late, conn.PgConn().PID(), stands)
	}
	err = w.recipe.hold(late, conn, &w.attempt)
	if isCode(err, queryCanceled) && ctx.Err() != nil {
		hangUp(conn)
		return nil, ctx.Err()
	}
	return w.held(late, conn, err)
}

// held is the tenure of a connection that has the lock, unless there was an error.
func (w *asking) held(ctx context.Context, conn *pgx.Conn, err error) (service.Tenure, error) {
	if err != nil {
		hangUp(conn)
		return nil, w.failed(w.op, err)
	}
	service.Stand(ctx, w.owner)
	watching, stop := context.WithCancel(context.Background())
	t := &heldTenure{tenure: newTenure(w), conn: conn, stop: stop, stopped: make(chan struct{})}
	go t.watch(watching)
	return t, nil
}

//go:embed sql/waits.sql
var waitsStatement string

// watchWait calls stands once a session waits for a lock. It asks by a connection of its
// own, until ctx is done.
func (w *asking) watchWait(ctx context.Context, session uint32, stands func()) {
	conn, err := w.place.connect(ctx, databaseOf(w.attempt.lock))
	if err != nil {
		return // nobody is told, and who asked waits for the lock itself
	}
	defer hangUp(conn)
	for {
		var waits bool
		if err := conn.QueryRow(ctx, waitsStatement, session).Scan(&waits); err != nil {
			return
		}
		if waits {
			stands()
			return
		}
		time.Sleep(pollEvery)
	}
}

// heldTenure is one that a connection has.
type heldTenure struct {
	*tenure
	conn    *pgx.Conn
	stop    context.CancelFunc // of the watch
	stopped chan struct{}
}

// watch ends the tenure when the connection does.
func (t *heldTenure) watch(ctx context.Context) {
	defer close(t.stopped)
	for {
		if _, err := t.conn.WaitForNotification(ctx); err != nil {
			break
		}
	}
	if ctx.Err() == nil {
		t.end(lock.ErrLost)
	}
}

// Unlock implements lock.Tenure. Where the connection has ended, so has the tenure.
func (t *heldTenure) Unlock(ctx context.Context) error {
	t.stop()
	<-t.stopped
	t.end(nil)
	defer hangUp(t.conn)
	if t.Err() != nil || t.conn.IsClosed() {
		return lock.ErrLost
	}
	var err error
	if t.of.recipe.release != nil {
		err = t.of.recipe.release(ctx, t.conn, &t.of.attempt)
	} else {
		_, err = t.conn.Exec(ctx, "COMMIT")
	}
	return t.of.undone(err)
}
