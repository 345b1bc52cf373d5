package sqlservice

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// retry is how often a client that waits for a row asks again.
const retry = 100 * time.Millisecond

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (w *asking[C]) try(ctx context.Context, conn C) (service.Tenure, error) {
	asked := time.Now()
	switch taken, err := w.Recipe.Take(ctx, conn, &w.Attempt); {
	case err != nil:
		return nil, w.failed(w.op, err)
	case !taken:
		return nil, lock.ErrLocked
	}
	service.Stand(ctx, w.Owner)
	t := &rowTenure[C]{newTenure(w)}
	lease := time.AfterFunc(time.Until(asked.Add(w.TTL())), func() { t.End(lock.ErrCutOff) })
	go func() {
		<-t.Done()
		lease.Stop()
	}()
	return t, nil
}

// ask asks until the lock is the client's, or ctx is done.
func (w *asking[C]) ask(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
	conn, err := w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	defer w.Database.HangUp(conn)
	late, stop := service.Patient(ctx, func() {})
	defer stop()
	for ctx.Err() == nil {
		t, err := w.try(late, conn)
		if err != lock.ErrLocked {
			return t, err
		}
		if stands != nil {
			stands(w.Owner)
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
	return nil, fence.Definite.Wrap(ctx.Err())
}

// rowTenure is one that a row says. It ends by the client's clock when the lease does.
type rowTenure[C any] struct{ *tenure[C] }

// Unlock implements lock.Tenure.
func (t *rowTenure[C]) Unlock(ctx context.Context) error {
	t.End(nil)
	conn, err := t.of.Database.Connect(ctx, t.of.Attempt.Lock)
	if err != nil {
		return err
	}
	defer t.of.Database.HangUp(conn)
	mine, err := t.of.Recipe.Free(ctx, conn, &t.of.Attempt)
	if err == nil && !mine {
		return lock.ErrLost
	}
	return t.of.undone(err)
}
