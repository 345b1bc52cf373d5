package attempt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Renewal is how a lease of a scope's lock is asked for, by a package of that name.
type Renewal struct {
	Package, Scope string
	// TTL is the lease that is asked for where nobody says how long it is to last.
	TTL time.Duration
	// Sure is how much of a lease is sure from when it was asked for. Nil: all of it.
	Sure func(lease time.Duration) time.Duration
	// Renew asks for a new lease, and waits for the answer until ctx is done. If it fails with lock.ErrCutOff, there will
	// be no answer any more.
	Renew func(ctx context.Context, lease time.Duration) (held bool, err error)
}

// keeper knows of a lease how long it lasts.
type keeper struct {
	Renewal
	turns turns       // of requests
	over  *time.Timer // ends the life with a fixed lease; nil: the lease is renewed

	mu    sync.Mutex
	until time.Time // when the lease ends that is sure
}

func (k *keeper) end() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.until
}

// lasts notes when the lease ends. It reports whether a fixed one had not ended before.
func (k *keeper) lasts(until time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over != nil {
		if !k.over.Stop() {
			return false
		}
		k.over.Reset(time.Until(until))
	}
	k.until = until
	return true
}

// want is the lease to ask for, so that d is sure, and what is sure then. A lease that is renewed is no shorter than the TTL,
// and does not end before the one that there is.
func (k *keeper) want(asked time.Time, d time.Duration) (lease, sure time.Duration) {
	if k.over == nil {
		d = max(d, k.end().Sub(asked))
		if sure = k.sure(k.TTL); sure >= d {
			return k.TTL, sure
		}
	}
	lease = d + 2*(d-k.sure(d))
	return (lease + time.Millisecond - 1).Truncate(time.Millisecond), d
}

func (k *keeper) sure(lease time.Duration) time.Duration {
	if k.Sure == nil {
		return lease
	}
	return k.Sure(lease)
}

// Keep renews a lease that surely lasts until then, every third of the TTL, and more often where there was no answer, until
// the life ends. A lease that ends without an answer, or is lost, ends the life.
func (l *Life) Keep(until time.Time, r Renewal) {
	k := &l.keeper
	k.Renewal, k.until, k.turns = r, until, newTurns()
	kept := make(chan struct{})
	first := time.AfterFunc(min(r.TTL/3, time.Until(until)), func() {
		defer close(kept)
		l.keep()
	})
	l.stop = func() {
		if first.Stop() {
			close(kept)
		}
		<-kept
	}
}

func (l *Life) keep() {
	k := &l.keeper
	for !l.Over() {
		until, wait := k.end(), k.TTL/3
		if !time.Now().Before(until) {
			l.End(lock.ErrCutOff)
			return
		}
		held, err := l.renewals.Ask(k.Package, k.Scope, func() (bool, error) {
			ctx, cancel := context.WithDeadline(l.ctx, until)
			defer cancel()
			done, err := k.turns.take(ctx)
			if err != nil {
				return false, err
			}
			defer done()
			asked := time.Now()
			lease, sure := k.want(asked, 0)
			held, err := k.Renew(ctx, lease)
			if held && err == nil {
				k.lasts(asked.Add(sure))
			}
			return held, err
		})
		switch {
		case errors.Is(err, lock.ErrCutOff):
			l.End(lock.ErrCutOff)
			return
		case err != nil:
			wait = k.TTL / 10
		case !held:
			l.End(lock.ErrLost)
			return
		}
		_ = Sleep(l.ctx, min(wait, time.Until(k.end())))
	}
}

// Fixed has the life end with a lease that surely lasts until then, unless it is extended.
func (l *Life) Fixed(until time.Time, r Renewal) {
	k := &l.keeper
	k.Renewal, k.until, k.turns = r, until, newTurns()
	k.over = time.AfterFunc(time.Until(until), func() { l.End(lock.ErrCutOff) })
	l.stop = func() { k.over.Stop() }
}

// Until is when the lease ends.
func (l *Life) Until() time.Time { return l.keeper.end() }

// Extend is as lock.Extensible says. Calls ask one after the other. A life that is over is not extended, even where the
// service still has the lease.
func (l *Life) Extend(ctx context.Context, d time.Duration) error {
	k := &l.keeper
	if err := CheckTTL(k.Package, d); err != nil {
		return err
	}
	failed := func(err error) error { return fmt.Errorf("%s: extend %q: %w", k.Package, k.Scope, err) }
	if err := ctx.Err(); err != nil {
		return fence.Definite.Wrap(failed(err))
	}
	done, err := k.turns.take(ctx)
	if err != nil {
		return fence.Definite.Wrap(failed(fmt.Errorf("another request is under way: %w", err)))
	}
	if l.Over() {
		done()
		return failed(lock.ErrLost)
	}
	asked := time.Now()
	lease, sure := k.want(asked, d)
	until := asked.Add(sure)
	held, done, err := k.ask(ctx, lease, done)
	defer done()
	switch {
	case err == nil && !held:
		l.End(lock.ErrLost)
		return failed(lock.ErrLost)
	case err == nil && (!k.lasts(until) || l.Over()):
		err = fmt.Errorf("the tenure ended meanwhile: %w", lock.ErrCutOff)
	case err == nil:
		return nil
	case fence.OutcomeOf(err) == fence.Definite:
		return failed(err)
	case until.Before(k.end()): // the lease may be shorter
		k.lasts(until)
	}
	return &lock.UnknownError{Op: "extend", Scope: k.Scope, Err: fmt.Errorf("%s: %w", k.Package, err)}
}

// ask asks for a lease. After ctx is done a request about a fixed lease goes on until it is answered, or the lease is over, and
// done waits for that: the service could carry out the next request before it. A lease that is renewed cannot wait so long for
// its renewal, which puts right what came late.
func (k *keeper) ask(ctx context.Context, lease time.Duration, next func()) (held bool, done func(), err error) {
	if k.over == nil {
		held, err = k.Renew(ctx, lease)
		return held, next, err
	}
	type answer struct {
		held bool
		err  error
	}
	said := make(chan answer, 1)
	late, stop := context.WithDeadline(context.WithoutCancel(ctx), k.end())
	go func() {
		defer stop()
		held, err := k.Renew(late, lease)
		said <- answer{held, err}
	}()
	select {
	case a := <-said:
		return a.held, next, a.err
	case <-ctx.Done():
		return false, func() { go func() { <-said; next() }() }, ctx.Err()
	}
}
