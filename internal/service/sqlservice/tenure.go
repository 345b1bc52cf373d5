package sqlservice

import (
	"context"
	"sync"
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

// begin connects, and begins the transaction in which the recipe takes the lock, if it is
// a transaction that has it. A request waits there for a lock for so long; 0 is for ever.
func (w *asking) begin(ctx context.Context, long time.Duration) (Conn, error) {
	conn, err := w.Database.Connect(ctx, w.Attempt.Lock)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	if !w.Recipe.Session {
		err = conn.Begin(ctx)
	}
	if err == nil && long > 0 {
		err = conn.Hurry(ctx, long)
	}
	if err != nil {
		conn.HangUp()
		return nil, fence.Definite.Wrap(err)
	}
	return conn, nil
}

// hold waits until the lock is the connection's, or ctx is done.
func (w *asking) hold(ctx context.Context, stands func(owner string)) (lock.Tenure, error) {
	long := w.Client.Settings.Time(settingLockTimeout)
	if w.op == opTry {
		long = time.Millisecond
	}
	conn, err := w.begin(ctx, long)
	if err != nil {
		return nil, err
	}
	if stands != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go w.watchWait(watching, conn, stands)
	}
	switch {
	case w.op == opTry:
		return w.holdOnce(ctx, conn)
	case w.Client.Settings.Text(settingGiveUp) == giveUpLeave:
		return w.holdOrLeave(ctx, conn)
	}
	return w.holdOrCancel(ctx, conn)
}

// holdOnce gives up where it would have to wait.
func (w *asking) holdOnce(ctx context.Context, conn Conn) (lock.Tenure, error) {
	err := w.Recipe.Hold(ctx, conn, &w.Attempt)
	if w.Database.Answer(err) == GaveUp {
		conn.HangUp()
		return nil, lock.ErrLocked
	}
	if err == nil { // what it asks for next may wait as long as ever
		err = conn.Hurry(ctx, w.Client.Settings.Time(settingLockTimeout))
	}
	return w.held(conn, err)
}

// holdOrCancel has the request cancelled when ctx is done, and waits for what comes of that.
func (w *asking) holdOrCancel(ctx context.Context, conn Conn) (lock.Tenure, error) {
	late, stop := service.Patient(ctx, func() {
		cancel, stop := context.WithTimeout(context.Background(), service.LastAnswer)
		defer stop()
		conn.Cancel(cancel) // else the answer comes too late
	})
	defer stop()
	err := w.Recipe.Hold(late, conn, &w.Attempt)
	if w.Database.Answer(err) == Canceled && ctx.Err() != nil {
		conn.HangUp()
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	return w.held(conn, err)
}

// holdOrLeave goes on without the answer when ctx is done. The request stays in the database,
// and the connection stays open.
func (w *asking) holdOrLeave(ctx context.Context, conn Conn) (lock.Tenure, error) {
	answer := make(chan error, 1)
	go func() { answer <- w.Recipe.Hold(context.WithoutCancel(ctx), conn, &w.Attempt) }()
	select {
	case err := <-answer:
		return w.held(conn, err)
	case <-ctx.Done():
		go func() {
			<-answer
			conn.Ended(context.Background())
			conn.HangUp()
		}()
		return nil, fence.Definite.Wrap(ctx.Err()) // as far as this client is concerned
	}
}

// held is the tenure of a connection that has the lock, unless there was an error.
func (w *asking) held(conn Conn, err error) (lock.Tenure, error) {
	if err != nil {
		conn.HangUp()
		return nil, w.failed(w.op, err)
	}
	t := &heldTenure{tenure: tenure{service.NewLife(), w}, conn: conn}
	if w.Recipe.Inside(w.Client.Settings) {
		w.Client.tenures.Store(w.Owner, t)
	}
	t.watch()
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
	conn    Conn
	unwatch func() // returns when nobody waits for the connection's end
}

// watch has the tenure end when the connection does, for which nothing is asked meanwhile.
func (t *heldTenure) watch() {
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		if t.conn.Ended(ctx) {
			t.End(lock.ErrLost)
		}
	})
	t.unwatch = func() {
		stop()
		watching.Wait()
	}
}

// within asks for something by the connection that has the lock.
func (t *heldTenure) within(ask func(conn Conn) error) error {
	t.unwatch()
	if t.Err() != nil {
		return lock.ErrLost
	}
	if err := ask(t.conn); err != nil {
		t.conn.HangUp()
		t.End(lock.ErrLost)
		return err
	}
	t.watch()
	return nil
}

// Unlock implements lock.Tenure. Where the connection has ended, so has the tenure.
func (t *heldTenure) Unlock(ctx context.Context) error {
	t.unwatch()
	t.End(nil)
	t.of.Client.tenures.Delete(t.of.Owner)
	defer t.conn.HangUp()
	if t.Err() != nil {
		return lock.ErrLost
	}
	if release := t.of.Recipe.Release; release != nil {
		return t.of.undone(release(ctx, t.conn, &t.of.Attempt))
	}
	_, err := t.conn.Run(ctx, "COMMIT")
	return t.of.undone(err)
}
