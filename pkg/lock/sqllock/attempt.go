package sqllock

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

var errZero = fence.Definite.New("sqllock: this Backend was not made by New or Spring")

// attempt makes one attempt, or waits.
func (b *Backend) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if b.table == nil {
		return nil, errZero
	}
	key, err := b.table.format.key(scope)
	if err != nil {
		return nil, fmt.Errorf("sqllock: %s: %w", how.Op, err)
	}
	stand := func() (lock.Tenure, error, error) {
		return b.stand(ctx, ticket{scope: scope, key: key, owner: b.table.format.owner(), words: lock.Words(ctx)}, how.Wait)
	}
	tenure, left, err := attempt.Stand(how, stand)
	for n := b.table.connections(err); n > 0 && closed(err) && (left == nil || left == errOnItsWay) && ctx.Err() == nil; n-- {
		tenure, left, err = attempt.Stand(how, stand)
	}
	if err != nil {
		return nil, attempt.Attempt{Package: "sqllock", Way: how, Scope: scope}.Failed(ctx, err, "the lock may be taken", left)
	}
	return tenure, nil
}

// stand asks for the lock until it is granted or, without wait, once. left is why the lock
// may be taken in spite of the error.
func (b *Backend) stand(ctx context.Context, t ticket, wait bool) (granted lock.Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	waits := waiting{poll: attempt.Poll{Every: b.table.poll}}
	defer func() { waits.bell.leave(granted != nil) }()
	for {
		asked := time.Now()
		said, err := b.table.ask(late, t, b.ttl)
		if said.granted {
			b.table.say(late, t, b.ttl)
		}
		until := asked.Add(b.ttl)
		switch {
		case err != nil:
			return nil, b.takeBack(late, t, err), err
		case said.granted && ctx.Err() == nil && time.Now().Before(until):
			return b.newTenure(t, said.token, until), nil, nil
		case said.granted: // and nobody wants it any more, or the answer took as long as the lease
			return nil, b.takeBack(late, t, nil), attempt.ErrLate
		case !wait:
			return nil, nil, lock.ErrLocked
		}
		if waits.bell == nil {
			waits.bell = b.bells.join(t.key)
		}
		if err := b.await(ctx, t, said.left, &waits); err != nil {
			return nil, nil, err
		}
	}
}

// waiting is how one waits who was not granted the lock.
type waiting struct {
	poll attempt.Poll
	bell *bell // nil: nobody tells
}

// await returns when the lock was seen free, or may be by the bell. It knows how long the lease
// of the holder lasts.
func (b *Backend) await(ctx context.Context, t ticket, left time.Duration, w *waiting) error {
	for left > 0 {
		select {
		case <-time.After(min(left, w.poll.Pause())):
		case <-w.bell.news():
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		if left, _, err = b.table.lookAt(ctx, t); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// takeBack frees the lock that an attempt may have, which ended with err. It returns why the
// lock may be taken nevertheless.
func (b *Backend) takeBack(ctx context.Context, t ticket, err error) error {
	if err != nil && fence.OutcomeOf(err) == fence.Definite {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attempt.Cleanup)
	defer cancel()
	freed, _, left := b.table.own(ctx, b.table.free, t, 0)
	switch {
	case freed:
		return nil
	case left == nil && err != nil:
		return errOnItsWay
	}
	return left
}

var errOnItsWay = errors.New("the request may be on its way")

// closed reports whether err says that the other side has closed the connection, as a database
// does when it restarts. The driver may notice that only by the next statement.
func closed(err error) bool {
	if err == nil {
		return false
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, driver.ErrBadConn} {
		if errors.Is(err, end) {
			return true
		}
	}
	state := answerIn(err).state // PostgreSQL's last word on a connection, as it shuts down or crashes
	return state == "57P01" || state == "57P02"
}
