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

func grantsAreNewAfterRestarts(t *trial) error {
	var (
		before lock.Grant
		seen   = make(owners)
	)
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
	return nil
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
	_ = t.unlock(tenure) // or it expires
	_, err = t.pass(fresh)
	return err
}

// livesOverRestart looks on until a lease that has not been renewed since the restart is over.
func livesOverRestart(t *trial) error {
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	fresh, err := t.restart()
	if err != nil {
		return err
	}
	defer fresh.Close()
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
	type served struct {
		place int
		outcome
	}
	got := make(chan served, 2)
	for i, waits := range []<-chan outcome{t.background(t.locking(t.b)), t.background(t.locking(t.c))} {
		go func() { got <- served{i, <-waits} }()
	}
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
	_ = t.unlock(holder) // or it expires
	last := 0
	for range cap(got) {
		one := <-got
		switch {
		case errors.Is(one.err, context.DeadlineExceeded):
			return fmt.Errorf("one who waits since before the restart: %w", one.err)
		case one.err != nil:
			continue
		}
		if t.Fair && one.place < last && t.anew.Load() == 0 { // who was told to ask again has another place
			return errors.New("of two who wait since before the restart the second one was served first")
		}
		last = one.place
		if err := t.grow(was, one.tenure.Grant()); err != nil {
			return fmt.Errorf("to one who waits since before the restart: %w", err)
		}
		_ = t.unlock(one.tenure) // or it expires
	}
	_, err = t.pass(fresh)
	return err
}
