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

// Fixed has the life end with a lease that surely lasts until then, and that nobody renews.
func (l *Life) Fixed(until time.Time) *Term {
	term := NewTerm(until, func() { l.End(lock.ErrCutOff) })
	l.stop = func() { term.Over.Stop() }
	return term
}

// Renewal is how the lease of a scope's lock is renewed, by a package of that name.
type Renewal struct {
	Package, Scope string
	// TTL is the lease that is asked for, of which Sure is sure from when it was asked for.
	TTL, Sure time.Duration
	// Renew asks for a new lease, and waits for the answer until ctx is done. If it fails with lock.ErrCutOff, there will
	// be no answer any more.
	Renew func(ctx context.Context) (held bool, err error)
}

// Keep renews a lease that surely lasts until then, every third of the TTL, and more often where there was no answer, until
// the life ends. A lease that ends without an answer, or is lost, ends the life.
func (l *Life) Keep(until time.Time, r Renewal) {
	kept := make(chan struct{})
	first := time.AfterFunc(min(r.TTL/3, time.Until(until)), func() {
		defer close(kept)
		l.keep(until, r)
	})
	l.stop = func() {
		if first.Stop() {
			close(kept)
		}
		<-kept
	}
}

func (l *Life) keep(until time.Time, r Renewal) {
	for !l.Over() {
		asked, wait := time.Now(), r.TTL/3
		if !asked.Before(until) {
			l.End(lock.ErrCutOff)
			return
		}
		held, err := l.renewals.Ask(r.Package, r.Scope, func() (bool, error) {
			ctx, cancel := context.WithDeadline(l.ctx, until)
			defer cancel()
			return r.Renew(ctx)
		})
		switch {
		case errors.Is(err, lock.ErrCutOff):
			l.End(lock.ErrCutOff)
			return
		case err != nil:
			wait = r.TTL / 10
		case !held:
			l.End(lock.ErrLost)
			return
		default:
			until = asked.Add(r.Sure)
		}
		_ = Sleep(l.ctx, min(wait, time.Until(until)))
	}
}
