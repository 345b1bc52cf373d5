package sqllock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Lease is a tenure with a fixed lease.
type Lease struct {
	*Tenure

	mu    sync.Mutex
	until time.Time
	over  *time.Timer
}

var _ lock.Extender = (*Lease)(nil)

func newLease(t *Tenure, until time.Time) *Lease {
	l := &Lease{Tenure: t, until: until}
	l.over = time.AfterFunc(time.Until(until), func() { t.end(lock.ErrCutOff) })
	context.AfterFunc(t.life, func() { l.over.Stop() })
	return l
}

// Until is as lock.Expirer says.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Extend is as lock.Extender says. A lease that is over by the holder's clock is not
// extended, even if the database still has it.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	if err := attempt.CheckTTL("sqllock", d); err != nil {
		return err
	}
	asked, held, err := time.Now(), false, error(nil)
	if l.life.Err() == nil {
		_, held, err = l.table.change(ctx, l.table.renew, l.ticket, d)
	}
	switch {
	case err != nil && fence.OutcomeOf(err) == fence.Definite:
		return fmt.Errorf("sqllock: extend %q: %w", l.grant.Scope, err)
	case err != nil:
		return l.unknown(err)
	case !held:
		l.end(lock.ErrLost)
		return fmt.Errorf("sqllock: extend %q, token %d: %w", l.grant.Scope, l.grant.Token, lock.ErrLost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over.Reset(time.Until(asked.Add(d))) || l.life.Err() != nil {
		l.over.Stop()
		return l.unknown(fmt.Errorf("the tenure ended while the database was asked: %w", lock.ErrCutOff))
	}
	l.until = asked.Add(d)
	return nil
}

func (l *Lease) unknown(err error) error {
	return &lock.UnknownError{Op: "extend", Scope: l.grant.Scope, Err: fmt.Errorf("sqllock: %w", err)}
}
