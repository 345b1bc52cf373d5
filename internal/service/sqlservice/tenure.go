package sqlservice

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is what those have that package sqllock has not taken.
type tenure struct {
	*service.Life
	of *asking
}

func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.Attempt.Lock, Owner: t.of.Owner, Token: t.of.Token}
}

// retry is how often a client that waits for a row asks again.
const retry = 100 * time.Millisecond

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (w *asking) try(ctx context.Context, conn Conn) (lock.Tenure, error) {
	asked := time.Now()
	switch taken, err := w.make(ctx, conn, w.Recipe.Take); {
	case w.Database.Answer(err) == Exists: // another was quicker
		return nil, lock.ErrLocked
	case err != nil:
		return nil, w.failed(w.op, err)
	case !taken:
		return nil, lock.ErrLocked
	}
	t := &rowTenure{tenure{service.NewLife(), w}}
	lease := time.AfterFunc(time.Until(asked.Add(w.TTL())), func() { t.End(lock.ErrCutOff) })
	context.AfterFunc(t.Context(), func() { lease.Stop() })
	return t, nil
}

// make makes a change of the row, again after a deadlock.
func (w *asking) make(ctx context.Context, conn Conn, change func(context.Context, Conn, *Attempt) (bool, error)) (bool, error) {
	for {
		done, err := change(ctx, conn, &w.Attempt)
		if w.Database.Answer(err) != Deadlocked {
			return done, err
		}
	}
}

// ask asks until the lock is the client's, or ctx is done; or once.
func (w *asking) ask(ctx context.Context, stands func(owner string)) (lock.Tenure, error) {
	conn, err := w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	defer conn.HangUp()
	if w.op == opTry {
		return w.try(ctx, conn)
	}
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
		sleep.For(ctx, retry)
	}
	return nil, fence.Definite.Wrap(ctx.Err())
}

// rowTenure is one that a row says. It ends by the client's clock when the lease does.
type rowTenure struct{ tenure }

func (t *rowTenure) Unlock(ctx context.Context) error {
	t.End(nil)
	conn, err := t.of.Database.Connect(ctx, t.of.Attempt.Lock)
	if err != nil {
		return err
	}
	defer conn.HangUp()
	mine, err := t.of.make(ctx, conn, t.of.Recipe.Free)
	if err == nil && !mine {
		return lock.ErrLost
	}
	return t.of.undone(err)
}
