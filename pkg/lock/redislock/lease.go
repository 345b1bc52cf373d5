package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Lease is a tenure with a fixed lease.
type Lease struct {
	*Tenure

	term *attempt.Term
}

var _ lock.Extender = (*Lease)(nil)

func newLease(t *Tenure, until time.Time) *Lease {
	return &Lease{Tenure: t, term: t.life.Fixed(until)}
}

// Until is as lock.Expirer says.
func (l *Lease) Until() time.Time { return l.term.Until() }

// Extend is as lock.Extender says. A lease that is over by the holder's clock is not
// extended, even where Redis still has it. Calls that come together ask one after the other.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	if err := attempt.CheckTTL("redislock", d); err != nil {
		return err
	}
	done, err := l.term.Turn(ctx)
	if err != nil {
		return fence.Definite.Wrap(fmt.Errorf("redislock: extend %q: another call is under way: %w", l.grant.Scope, err))
	}
	service := l.locker.service
	asked, by := time.Now(), longer
	if asked.Add(d).Before(l.Until()) {
		by = shorter
	}
	held, err := begin(ctx, func() (bool, error) {
		defer done() // when it is answered, even if nobody waits for the answer any more
		if l.life.Over() {
			return false, nil
		}
		return service.renew(ctx, l.ticket, attempt.LeaseOf(d, service.valid), by)
	}).within(ctx)
	switch {
	case refused(err):
		return fmt.Errorf("redislock: extend %q: %w", l.grant.Scope, err)
	case err != nil:
		l.term.Doubtful(asked, d)
		return l.unknown(err)
	case !held:
		l.life.End(lock.ErrLost)
		return fmt.Errorf("redislock: extend %q, token %d: %w", l.grant.Scope, l.grant.Token, lock.ErrLost)
	case !l.term.Extended(asked, d) || l.life.Over():
		return l.unknown(fmt.Errorf("the tenure ended while Redis was asked: %w", lock.ErrCutOff))
	}
	return nil
}

func (l *Lease) unknown(err error) error {
	return &lock.UnknownError{Op: "extend", Scope: l.grant.Scope, Err: fmt.Errorf("redislock: %w", err)}
}
