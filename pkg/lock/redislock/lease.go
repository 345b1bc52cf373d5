package redislock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Lease is a tenure with a fixed lease.
type Lease struct {
	*Tenure

	mu    sync.Mutex
	until time.Time
}

var _ lock.Extender = (*Lease)(nil)

func newLease(t *Tenure, until time.Time) *Lease {
	t.timer = time.AfterFunc(time.Until(until), func() { t.end(lock.ErrCutOff) })
	return &Lease{Tenure: t, until: until}
}

// Until is as lock.Expirer says.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Extend is as lock.Extender says. A lease that is over by the holder's clock is not
// extended, even where Redis still has it.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	if err := attempt.CheckTTL("redislock", d); err != nil {
		return err
	}
	service := l.locker.service
	asked, held, err := time.Now(), false, error(nil)
	if l.life.Err() == nil {
		held, err = begin(ctx, func() (bool, error) {
			return service.renew(ctx, l.ticket, d+2*(d-service.valid(d))) // of which d is sure
		}).within(ctx)
	}
	switch {
	case refused(err):
		return fmt.Errorf("redislock: extend %q: %w", l.grant.Scope, err)
	case err != nil:
		return l.unknown(err)
	case !held:
		l.end(lock.ErrLost)
		return fmt.Errorf("redislock: extend %q, token %d: %w", l.grant.Scope, l.grant.Token, lock.ErrLost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.timer.Reset(time.Until(asked.Add(d))) || l.life.Err() != nil {
		l.timer.Stop()
		return l.unknown(fmt.Errorf("the tenure ended while Redis was asked: %w", lock.ErrCutOff))
	}
	l.until = asked.Add(d)
	return nil
}

func (l *Lease) unknown(err error) error {
	return &lock.UnknownError{Op: "extend", Scope: l.grant.Scope, Err: fmt.Errorf("redislock: %w", err)}
}
