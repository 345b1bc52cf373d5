package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of restarts of the service.

// restart restarts the service, and opens a client: one from before may take a while
// to connect again.
func (t *trial) restart() (Client, error) {
	if err := t.Restart(t.ctx); err != nil {
		return Client{}, fmt.Errorf("restart the service: %w", err)
	}
	return t.open()
}

// restarts is how often the service is restarted: one that numbers its starts, or keeps
// the last number but one, is found out later than at the first restart.
const restarts = 4

// reserved is how many numbers a service may reserve at its start, and more.
const reserved = 110

func grantsAreNewAfterRestarts(t *trial) error {
	var (
		before lock.Grant
		seen   = make(owners)
	)
	for began, n := time.Now(), 0; n < reserved && time.Since(began) < min(t.TTL, time.Second); n++ { // a busy service gives out fewer
		if _, err := t.pass(t.a); err != nil {
			return err
		}
	}
	ctx, leave := context.WithCancel(t.ctx)
	defer leave()
	served, err := t.waitOverRestarts(ctx)
	if err != nil {
		return err
	}
	for i := range restarts + 1 {
		c := t.a
		if i > 0 {
			fresh, err := t.restart()
			if err != nil {
				return err
			}
			defer fresh.Close()
			c = fresh
		}
		for _, way := range t.ways() { // of which the last one before a restart is a reader's, if there are readers
			after, err := t.pass(way.of(c))
			if err != nil {
				return err
			}
			if err := errors.Join(seen.see(after), t.grow(before, after)); err != nil {
				return fmt.Errorf("after %d restarts, %s: %w", i, way.name, err)
			}
			before = after
		}
	}
	return served()
}

// waitOverRestarts lets one wait for another lock. served is nil if it is granted the lock after its holder, or told that it
// cannot be had.
func (t *trial) waitOverRestarts(ctx context.Context) (served func() error, err error) {
	scope := t.scope + "/held"
	holder, err := t.lockIn(t.b, scope)
	if err != nil {
		return nil, err
	}
	waiter := t.background(waitingFor(ctx, t.c, scope))
	return func() error {
		_ = t.unlock(holder) // or it expires
		got, err := t.servedOrTold(waiter)
		if err != nil {
			return fmt.Errorf("over %d restarts: %w", restarts, err)
		}
		if got.err != nil {
			return nil
		}
		return t.grow(holder.Grant(), got.tenure.Grant())
	}, nil
}

func restartKeepsHolder(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := tenure.Grant()
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	if err := t.held(fresh); err != nil {
		_ = t.unlock(tenure)
		return fmt.Errorf("after a restart, and %+v was held: %w", tenure.Grant(), err)
	}
	if err := same(tenure, was, "by a restart"); err != nil {
		return err
	}
	if t.unlock(tenure) == nil {
		return t.free(fresh)
	}
	_, err = t.pass(fresh) // when it has expired
	return err
}

// livesOverRestart looks on until a lease that has not been renewed since the restart is over. One lock is granted after it, to
// one who has waited for it.
func livesOverRestart(t *trial) error {
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	holder, err := t.lock(t.b)
	if err != nil {
		return err
	}
	waiter := t.background(t.locking(t.c))
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	_ = t.unlock(holder)                 // or it expires
	if got := <-waiter; got.err == nil { // or it is told, which is about another law
		tenures = append(tenures, got.tenure)
	}
	if err := t.livesOrTold(t.TTL+t.TTL/2, fresh, tenures...); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	for _, tenure := range tenures {
		_ = t.unlock(tenure) // or it is over
	}
	return nil
}

// waiterOverRestart: those who wait are granted the lock, or are told that it cannot be had. One more leaves after the restart.
func waiterOverRestart(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	was := holder.Grant()
	got := turns(t.background(t.locking(t.b)), t.background(t.locking(t.c)))
	another, end, err := t.crowd(1)
	if err != nil {
		return err
	}
	defer end()
	ctx, leave := context.WithCancel(t.ctx)
	defer leave()
	left := t.background(waitingFor(ctx, another[0], t.scope))
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
	leave()
	select {
	case one := <-left:
		if one.err == nil {
			_ = t.unlock(one.tenure)
		}
	case <-time.After(t.bound()):
		return fmt.Errorf("Lock goes on %v after its context was done, over a restart", t.bound())
	}
	last := 0
	served := func(one turn) error {
		switch {
		case errors.Is(one.err, context.DeadlineExceeded):
			return fmt.Errorf("one who waits since before the restart: %w", one.err)
		case one.err != nil:
			return nil
		}
		if t.Fair && one.place < last && t.anew.Load() == 0 { // who was told to ask again has another place
			return errors.New("of two who wait since before the restart the second one was served first")
		}
		last = one.place
		if err := t.grow(was, one.tenure.Grant()); err != nil {
			return fmt.Errorf("to one who waits since before the restart: %w", err)
		}
		_ = t.unlock(one.tenure) // or it expires
		return nil
	}
	one, came := turn{}, false
	select {
	case one = <-got:
		if err := t.gaveWay(holder, one); err != nil {
			return err
		}
		came = true
	case <-time.After(t.moment()): // in which one may come in that must not
	}
	_ = t.unlock(holder) // or it expires
	for range cap(got) {
		if !came {
			one = <-got
		}
		came = false
		if err := served(one); err != nil {
			return err
		}
	}
	_, err = t.pass(fresh)
	return err
}

// gaveWay is nil if the holder of a lock learns that it is over, where one who waited has been granted it.
func (t *trial) gaveWay(holder lock.Tenure, one turn) error {
	if one.err != nil {
		return nil
	}
	if err := t.lost(holder); err != nil {
		return fmt.Errorf("%+v was granted to one who waits over the restart, and the holder of %+v is not told: %w", one.tenure.Grant(), holder.Grant(), err)
	}
	return nil
}
