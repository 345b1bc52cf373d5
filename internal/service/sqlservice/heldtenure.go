package sqlservice

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// PollEvery is how often a database is asked for what it does not tell.
const PollEvery = 10 * time.Millisecond

func (w *asking[C]) holding() Holding[C] { return w.Database.(Holding[C]) }

// begin connects, and begins the transaction in which the recipe takes the lock, if it is
// a transaction that has it. A request waits there for a lock for so long; 0 is for ever.
func (w *asking[C]) begin(ctx context.Context, long time.Duration) (conn C, err error) {
	conn, err = w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return conn, fence.Definite.Wrap(err)
	}
	if !w.Recipe.Session {
		err = w.holding().Begin(ctx, conn)
	}
	if err == nil && long > 0 {
		err = w.holding().Hurry(ctx, conn, long)
	}
	if err != nil {
		w.Database.HangUp(conn)
		return conn, fence.Definite.Wrap(err)
	}
	return conn, nil
}

// tryHold asks once, and gives up where it would have to wait.
func (w *asking[C]) tryHold(ctx context.Context) (service.Tenure, error) {
	conn, err := w.begin(ctx, time.Millisecond)
	if err != nil {
		return nil, err
	}
	err = w.Recipe.Hold(ctx, conn, &w.Attempt)
	if w.holding().GaveUp(err) {
		w.Database.HangUp(conn)
		return nil, lock.ErrLocked
	}
	if err == nil { // what it asks for next may wait as long as ever
		err = w.holding().Hurry(ctx, conn, w.Client.Settings.Time(settingLockTimeout))
	}
	return w.held(ctx, conn, err)
}

// hold waits until the lock is the connection's, or ctx is done.
func (w *asking[C]) hold(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
	conn, err := w.begin(ctx, w.Client.Settings.Time(settingLockTimeout))
	if err != nil {
		return nil, err
	}
	if stands != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go w.watchWait(watching, conn, stands)
	}
	if w.Client.Settings.Text(settingGiveUp) == giveUpLeave {
		return w.holdOrLeave(ctx, conn)
	}
	return w.holdOrCancel(ctx, conn)
}

// holdOrCancel has the request cancelled when ctx is done, and waits for what comes of that.
func (w *asking[C]) holdOrCancel(ctx context.Context, conn C) (service.Tenure, error) {
	late, stop := service.Patient(ctx, func() {
		cancel, stop := context.WithTimeout(context.Background(), service.LastAnswer)
		defer stop()
		w.holding().Cancel(cancel, conn) // else the answer comes too late
	})
	defer stop()
	err := w.Recipe.Hold(late, conn, &w.Attempt)
	if w.holding().Canceled(err) && ctx.Err() != nil {
		w.Database.HangUp(conn)
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	return w.held(late, conn, err)
}

// holdOrLeave goes on without the answer when ctx is done. The request stays in the database,
// and the connection stays open.
func (w *asking[C]) holdOrLeave(ctx context.Context, conn C) (service.Tenure, error) {
	answer := make(chan error, 1)
	go func() { answer <- w.Recipe.Hold(context.WithoutCancel(ctx), conn, &w.Attempt) }()
	select {
	case err := <-answer:
		return w.held(ctx, conn, err)
	case <-ctx.Done():
		go func() {
			<-answer
			w.holding().Ended(context.Background(), conn)
			w.Database.HangUp(conn)
		}()
		return nil, fence.Definite.Wrap(ctx.Err()) // as far as this client is concerned
	}
}

// held is the tenure of a connection that has the lock, unless there was an error.
func (w *asking[C]) held(ctx context.Context, conn C, err error) (service.Tenure, error) {
	if err != nil {
		w.Database.HangUp(conn)
		return nil, w.failed(w.op, err)
	}
	service.Stand(ctx, w.Owner)
	t := &heldTenure[C]{tenure: newTenure(w), conn: conn}
	if w.Recipe.Inside(w.Client.Settings) {
		w.Client.tenures.Store(w.Owner, t)
	}
	t.watch()
	return t, nil
}

// watchWait calls stands once a connection waits for a lock. It asks by another, until ctx
// is done.
func (w *asking[C]) watchWait(ctx context.Context, waiting C, stands func(owner string)) {
	conn, err := w.holding().Beside(ctx)
	if err != nil {
		return // nobody is told, and who asked waits for the lock itself
	}
	defer w.Database.HangUp(conn)
	for {
		waits, err := w.holding().Waits(ctx, conn, waiting)
		if err != nil {
			return
		}
		if waits {
			stands(w.Owner)
			return
		}
		time.Sleep(PollEvery)
	}
}

// heldTenure is one that a connection has.
type heldTenure[C any] struct {
	*tenure[C]
	conn    C
	unwatch func() // returns when nobody waits for the connection's end
}

// watch has the tenure end when the connection does, for which nothing is asked meanwhile.
func (t *heldTenure[C]) watch() {
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if t.of.holding().Ended(ctx, t.conn) {
			t.End(lock.ErrLost)
		}
	}()
	t.unwatch = func() {
		stop()
		<-stopped
	}
}

// within asks for something by the connection that has the lock.
func (t *heldTenure[C]) within(ask func(conn C) error) error {
	t.unwatch()
	if t.Err() != nil {
		return lock.ErrLost
	}
	if err := ask(t.conn); err != nil {
		t.of.Database.HangUp(t.conn)
		t.End(lock.ErrLost)
		return err
	}
	t.watch()
	return nil
}

// Unlock implements lock.Tenure. Where the connection has ended, so has the tenure.
func (t *heldTenure[C]) Unlock(ctx context.Context) error {
	t.unwatch()
	t.End(nil)
	t.of.Client.tenures.Delete(t.Name())
	defer t.of.Database.HangUp(t.conn)
	if t.Err() != nil {
		return lock.ErrLost
	}
	release := t.of.Recipe.Release
	if release == nil {
		return t.of.undone(t.of.holding().Commit(ctx, t.conn))
	}
	return t.of.undone(release(ctx, t.conn, &t.of.Attempt))
}
