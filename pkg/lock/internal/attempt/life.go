package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// Life is the life of a tenure, which ends once, and for one reason. Begin begins it.
type Life struct {
	ctx      context.Context
	end      context.CancelCauseFunc
	stop     func() // has nobody renew the lease any more, or end it; nil: nobody does
	keeper   keeper
	renewals Renewals
}

// errReleased is why a life ends by Unlock.
var errReleased = errors.New("released")

// Begin begins a life, which ends with another one at the latest.
func (l *Life) Begin(other context.Context) { l.ctx, l.end = context.WithCancelCause(other) }

// Done is closed when the life has ended.
func (l *Life) Done() <-chan struct{} { return l.ctx.Done() }

// Context is done when the life has ended.
func (l *Life) Context() context.Context { return l.ctx }

// Over reports whether the life has ended.
func (l *Life) Over() bool { return l.ctx.Err() != nil }

// Err is as lock.Tenure says. A tenure is cut off where it is not known to be lost.
func (l *Life) Err() error {
	switch cause := context.Cause(l.ctx); cause {
	case nil, errReleased:
		return nil
	case lock.ErrLost:
		return cause
	default:
		return lock.ErrCutOff
	}
}

// End ends the life, as lock.ErrLost or lock.ErrCutOff says.
func (l *Life) End(why error) { l.end(why) }

// Release ends the life by Unlock. No renewal is under way when it returns.
func (l *Life) Release() {
	l.end(errReleased)
	if l.stop != nil {
		l.stop()
	}
}

// OnRenewal is as lock.Renewer says.
func (l *Life) OnRenewal(f func(took time.Duration, err error)) { l.renewals.Listen(l.ctx, f) }
