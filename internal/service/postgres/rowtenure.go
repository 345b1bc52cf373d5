package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

// retry is how often a client that waits for a row asks again.
const retry = 100 * time.Millisecond

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (w *asking) try(ctx context.Context, conn *pgx.Conn) (service.Tenure, error) {
	asked := time.Now()
	switch taken, err := w.recipe.take(ctx, conn, &w.attempt); {
	case err != nil:
		return nil, w.failed(w.op, err)
	case !taken:
		return nil, lock.ErrLocked
	}
	service.Stand(ctx, w.owner)
	t := &rowTenure{newTenure(w)}
	lease := time.AfterFunc(time.Until(asked.Add(w.ttl())), func() { t.end(lock.ErrCutOff) })
	go func() {
		<-t.done
		lease.Stop()
	}()
	return t, nil
}

// ask asks until the lock is the client's, or ctx is done.
func (w *asking) ask(ctx context.Context, stands func()) (service.Tenure, error) {
	conn, err := w.place.connect(ctx, databaseOf(w.attempt.lock))
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	late, stop := service.Patient(ctx, func() {})
	defer stop()
	for ctx.Err() == nil {
		t, err := w.try(late, conn)
		if err != lock.ErrLocked {
			return t, err
		}
		if stands != nil {
			stands()
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// rowTenure is one that a row says. It ends by the client's clock when the lease does.
type rowTenure struct{ *tenure }

// Unlock implements lock.Tenure.
func (t *rowTenure) Unlock(ctx context.Context) error {
	t.end(nil)
	conn, err := t.of.place.connect(ctx, databaseOf(t.of.attempt.lock))
	if err != nil {
		return err
	}
	defer hangUp(conn)
	mine, err := t.of.recipe.free(ctx, conn, &t.of.attempt)
	if err == nil && !mine {
		return lock.ErrLost
	}
	return t.of.undone(err)
}
