package sqllock

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
// extended, even if the database still has it. Calls that come together ask one after the
// other. A statement that is under way when ctx is done goes on, and the next call waits for its answer, until the lease is over.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	if err := attempt.CheckTTL("sqllock", d); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fence.Definite.Wrap(fmt.Errorf("sqllock: extend %q: %w", l.grant.Scope, err))
	}
	done, err := l.term.Turn(ctx)
	if err != nil {
		return fence.Definite.Wrap(fmt.Errorf("sqllock: extend %q: another call is under way: %w", l.grant.Scope, err))
	}
	asked := time.Now()
	held, err := l.ask(ctx, d, done)
	switch {
	case err != nil && fence.OutcomeOf(err) == fence.Definite:
		return fmt.Errorf("sqllock: extend %q: %w", l.grant.Scope, err)
	case err != nil:
		l.term.Doubtful(asked, d)
		return l.unknown(err)
	case !held:
		l.life.End(lock.ErrLost)
		return fmt.Errorf("sqllock: extend %q, token %d: %w", l.grant.Scope, l.grant.Token, lock.ErrLost)
	case !l.term.Extended(asked, d) || l.life.Over():
		return l.unknown(fmt.Errorf("the tenure ended while the database was asked: %w", lock.ErrCutOff))
	}
	return nil
}

// ask asks for a lease of d, and calls done when it is answered, even if nobody waits for the answer any more: a later request
// may overtake one that is on its way.
func (l *Lease) ask(ctx context.Context, d time.Duration, done func()) (held bool, err error) {
	late, stop := context.WithDeadline(context.WithoutCancel(ctx), l.Until())
	came := make(chan struct{})
	var said struct {
		held bool
		err  error
	}
	go func() {
		defer close(came)
		defer done()
		defer stop()
		if !l.life.Over() {
			said.held, said.err = l.renew(late, d)
		}
	}()
	select {
	case <-came:
		return said.held, said.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (l *Lease) unknown(err error) error {
	return &lock.UnknownError{Op: "extend", Scope: l.grant.Scope, Err: fmt.Errorf("sqllock: %w", err)}
}
