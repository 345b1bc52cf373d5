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

// PollEvery is how often a database is asked for what it does not tell.
const PollEvery = 10 * time.Millisecond

// begin begins the transaction in which the recipe takes the lock, if it is a transaction that has it. A request waits
// there for a lock for so long; 0 is for ever.
func (w *asking) begin(ctx context.Context, long time.Duration) (*session, error) {
	s, err := w.session(ctx, w.Attempt.Lock)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	if !w.Recipe.Session {
		err = s.Begin(ctx)
	}
	if err == nil && (long > 0 || len(s.tenures) > 0) { // an earlier request may have waited for another time
		err = s.Hurry(ctx, long)
	}
	if err != nil {
		s.give()
		return nil, fence.Definite.Wrap(err)
	}
	return s, nil
}

// hold waits until the lock is the connection's, or ctx is done.
func (w *asking) hold(ctx context.Context, stands func(owner string)) (lock.Tenure, error) {
	long := w.Client.Settings.Time(settingLockTimeout)
	if w.op == opTry {
		long = time.Millisecond
	}
	s, err := w.begin(ctx, long)
	if err != nil {
		return nil, err
	}
	if stands != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go w.watchWait(watching, s.Conn, stands)
	}
	switch {
	case w.op == opTry:
		return w.holdOnce(ctx, s)
	case w.Client.Settings.Text(settingGiveUp) == giveUpLeave:
		return w.holdOrLeave(ctx, s)
	}
	return w.holdOrCancel(ctx, s)
}

// holdOnce gives up where it would have to wait.
func (w *asking) holdOnce(ctx context.Context, s *session) (lock.Tenure, error) {
	err := w.Recipe.Hold(ctx, s.Conn, &w.Attempt)
	if w.Database.Answer(err) == GaveUp {
		s.give()
		return nil, lock.ErrLocked
	}
	if err == nil { // what it asks for next may wait as long as ever
		err = s.Hurry(ctx, w.Client.Settings.Time(settingLockTimeout))
	}
	return w.held(s, err)
}

// holdOrCancel has the request cancelled when ctx is done, and waits for what comes of that.
func (w *asking) holdOrCancel(ctx context.Context, s *session) (lock.Tenure, error) {
	late, stop := service.Patient(ctx, func() {
		cancel, stop := context.WithTimeout(context.Background(), service.LastAnswer)
		defer stop()
		s.Cancel(cancel) // else the answer comes too late
	})
	defer stop()
	err := w.Recipe.Hold(late, s.Conn, &w.Attempt)
	if w.Database.Answer(err) == Canceled && ctx.Err() != nil {
		s.give()
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	return w.held(s, err)
}

// holdOrLeave goes on without the answer when ctx is done. The request stays in the database,
// and the connection stays open.
func (w *asking) holdOrLeave(ctx context.Context, s *session) (lock.Tenure, error) {
	answer := make(chan error, 1)
	go func() { answer <- w.Recipe.Hold(context.WithoutCancel(ctx), s.Conn, &w.Attempt) }()
	select {
	case err := <-answer:
		return w.held(s, err)
	case <-ctx.Done():
		go func() {
			<-answer
			s.Ended(context.Background())
			s.give()
		}()
		return nil, fence.Definite.Wrap(ctx.Err()) // as far as this client is concerned
	}
}

// held is the tenure of a connection that has the lock, unless there was an error.
func (w *asking) held(s *session, err error) (lock.Tenure, error) {
	defer s.give()
	if err != nil {
		return nil, w.failed(w.op, err)
	}
	t := &heldTenure{tenure{service.NewLife(), w}, s}
	s.tenures = append(s.tenures, t)
	if w.Recipe.Inside(w.Client.Settings) {
		w.Client.tenures.Store(w.Owner, t)
	}
	return t, nil
}

// watchWait calls stands once a connection waits for a lock. It asks by another, until ctx is done.
func (w *asking) watchWait(ctx context.Context, waiting Conn, stands func(owner string)) {
	conn, err := w.Database.Beside(ctx)
	if err != nil {
		return // nobody is told, and who asked waits for the lock itself
	}
	defer conn.HangUp()
	waits := false
	for err == nil && !waits && sleep.For(ctx, PollEvery) {
		waits, err = waiting.Waits(ctx, conn)
	}
	if waits {
		stands(w.Owner)
	}
}

// heldTenure is one that a connection has.
type heldTenure struct {
	tenure
	by *session
}

// within asks for something by the connection that has the lock.
func (t *heldTenure) within(ctx context.Context, ask func(conn Conn) error) error {
	if err := t.by.take(ctx); err != nil {
		return err
	}
	defer t.by.give()
	if t.Err() != nil {
		return lock.ErrLost
	}
	err := ask(t.by.Conn)
	if err != nil {
		t.by.forget(t)
		t.End(lock.ErrLost)
	}
	return err
}

// Unlock implements lock.Tenure. Where the connection has ended, so has the tenure.
func (t *heldTenure) Unlock(ctx context.Context) error {
	if err := t.by.take(ctx); err != nil {
		return err
	}
	defer t.by.give()
	t.End(nil)
	t.by.forget(t)
	t.of.Client.tenures.Delete(t.of.Owner)
	if t.Err() != nil {
		return lock.ErrLost
	}
	if release := t.of.Recipe.Release; release != nil {
		return t.of.undone(release(ctx, t.by.Conn, &t.of.Attempt))
	}
	_, err := t.by.Run(ctx, "COMMIT")
	return t.of.undone(err)
}
