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

// Renewal is how the lease of a scope's lock is renewed, by a package of that name.
type Renewal struct {
	Package, Scope string
	// TTL is the lease that is asked for.
	TTL time.Duration
	// Sure is how much of a lease is sure from when it was asked for. Nil: all of it.
	Sure func(lease time.Duration) time.Duration
	// Renew asks for a new lease, and waits for the answer until ctx is done. If it fails with lock.ErrCutOff, there will
	// be no answer any more.
	Renew func(ctx context.Context, lease time.Duration) (held bool, err error)
}

func (r *Renewal) sure(lease time.Duration) time.Duration {
	if r.Sure == nil {
		return lease
	}
	return r.Sure(lease)
}

// LeaseOf is a lease of which d is sure, by how much of a lease is.
func LeaseOf(d time.Duration, sure func(lease time.Duration) time.Duration) time.Duration {
	return d + 2*(d-sure(d))
}

// keeper renews a lease.
type keeper struct {
	Renewal
	turns turns // of requests

	mu    sync.Mutex
	until time.Time // when the lease ends that is sure
}

func (k *keeper) end() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.until
}

// ask asks for a lease of which d is sure. It is no shorter than the TTL, and does not end before the one that there is.
func (k *keeper) ask(ctx context.Context, d time.Duration) (held bool, err error) {
	asked := time.Now()
	lease, sure := k.TTL, k.sure(k.TTL)
	if d = max(d, k.end().Sub(asked)); d > sure {
		lease, sure = LeaseOf(d, k.sure), d
	}
	held, err = k.Renew(ctx, (lease + time.Millisecond - 1).Truncate(time.Millisecond))
	if held && err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.until = asked.Add(sure)
	}
	return held, err
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
			return k.ask(ctx, 0)
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

// Extend is as lock.Extensible says, for a lease that is renewed.
func (l *Life) Extend(ctx context.Context, d time.Duration) error {
	k := &l.keeper
	if err := CheckTTL(k.Package, d); err != nil {
		return err
	}
	failed := func(err error) error { return fmt.Errorf("%s: extend %q: %w", k.Package, k.Scope, err) }
	done, err := k.turns.take(ctx)
	if err != nil {
		return fence.Definite.Wrap(failed(fmt.Errorf("another request is under way: %w", err)))
	}
	defer done()
	if l.Over() {
		return failed(lock.ErrLost)
	}
	held, err := k.ask(ctx, d)
	switch {
	case err == nil && !held:
		l.End(lock.ErrLost)
		return failed(lock.ErrLost)
	case err == nil && l.Over():
		err = fmt.Errorf("the tenure ended meanwhile: %w", lock.ErrCutOff)
	case err == nil:
		return nil
	case fence.OutcomeOf(err) == fence.Definite:
		return failed(err)
	}
	return &lock.UnknownError{Op: "extend", Scope: k.Scope, Err: fmt.Errorf("%s: %w", k.Package, err)}
}
