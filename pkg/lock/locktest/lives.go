package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of tenures that are renewed.

// livingHolder: others have asked for the lock in vain meanwhile.
func livingHolder(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		tenure, err := t.lock(c)
		if err != nil {
			return nil, err
		}
		if err := t.waitsInVain(t.c, t.TTL/4, tenure); err != nil {
			return nil, err
		}
		return tenure, t.held(t.b)
	})
}

// outlasts is nil if a lock that a takes lives past its TTL. Without any renewal it ends
// every time.
func (t *trial) outlasts(take func(Client) (lock.Tenure, error)) error {
	tenure, err := take(t.a)
	if err != nil {
		return err
	}
	was := tenure.Grant()
	select {
	case <-tenure.Done():
	case <-time.After(t.long()):
	}
	if err := current(tenure); err != nil {
		return fmt.Errorf("though the client lives: %w", err)
	}
	if err := t.held(t.b); err != nil {
		return fmt.Errorf("%v after the grant, with a TTL of %v: %w", t.long(), t.TTL, err)
	}
	if err := same(tenure, was, "while the client lived"); err != nil {
		return err
	}
	return t.unlock(tenure)
}

// livesOrTold is nil if c is not granted the lock of a tenure for so long, or if the tenure's holder learns that it is over.
func (t *trial) livesOrTold(d time.Duration, c Client, tenures ...lock.Tenure) error {
	over := make([]bool, len(tenures))
	return t.throughout(d, func() error {
		for i, tenure := range tenures {
			if over[i] {
				continue
			}
			select {
			case <-tenure.Done():
				over[i] = true
				if err := lossKnown(tenure); err != nil {
					return err
				}
				continue
			default:
			}
			other, err := t.take(c.TryLock, tenure.Grant().Scope)
			switch {
			case errors.Is(err, lock.ErrLocked):
				continue
			case err != nil:
				return err
			}
			over[i] = true
			_ = t.unlock(other)
			if err := t.lost(tenure); err != nil {
				return fmt.Errorf("%+v was granted, and the holder of %+v is not told: %w", other.Grant(), tenure.Grant(), err)
			}
		}
		return nil
	})
}

// takeEach has a client take a lock in each way, in a scope of its own.
func (t *trial) takeEach(c Client) ([]lock.Tenure, error) {
	var tenures []lock.Tenure
	for i, way := range t.ways() {
		tenure, err := t.lockIn(way.of(c), fmt.Sprint(t.scope, "/", i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		tenures = append(tenures, tenure)
	}
	return tenures, nil
}

// shortCutOff lasts for longer than the pause between two renewals of most backends.
func shortCutOff(t *trial) error {
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	time.Sleep(t.TTL / 2) // stands for no event: a renewal fails
	if err := t.wake(t.a); err != nil {
		return err
	}
	if err := t.livesOrTold(3*t.TTL, t.b, tenures...); err != nil {
		return fmt.Errorf("after the holder was cut off for half of the TTL: %w", err)
	}
	return nil
}

// lossEndsNoOther: the client has lost another lock before, and one that took that lock over keeps it.
func lossEndsNoOther(t *trial) error {
	_, next, err := t.wakeBesideSuccessor()
	if err != nil {
		return err
	}
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	time.Sleep(t.long()) // stands for no event: they are renewed meanwhile
	for _, tenure := range append(tenures, next) {
		if err := current(tenure); err != nil {
			return fmt.Errorf("though the client lives: %w", err)
		}
		if other, err := t.take(t.c.TryLock, tenure.Grant().Scope); !errors.Is(err, lock.ErrLocked) {
			return fmt.Errorf("%v after %+v was granted, TryLock returned %v and %v, want ErrLocked", t.long(), tenure.Grant(), other, err)
		}
	}
	return nil
}

// waiterLives: the lock is granted to one who has waited for it.
func waiterLives(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		holder, err := t.lock(t.c)
		if err != nil {
			return nil, err
		}
		next := t.background(t.locking(c))
		if err := t.unlock(holder); err != nil {
			return nil, err
		}
		got := <-next
		return got.tenure, got.err
	})
}

// lateGrantLives: the context of a wait is done as the lock is granted, which ends the wait alone.
func lateGrantLives(t *trial) error {
	for range rounds {
		holder, err := t.lock(t.a)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		next := t.background(waitingFor(ctx, t.b, t.scope))
		if err := t.unlock(holder); err != nil {
			return err
		}
		cancel()
		got := <-next
		if got.err == nil {
			return t.livesOrTold(3*t.TTL, t.c, got.tenure)
		}
		if _, err := t.pass(t.c); err != nil { // within the TTL, if the outcome is unknown
			return nil // which is about another law
		}
	}
	return nil
}

// otherLockLives: the client has released another lock meanwhile.
func otherLockLives(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		other, err := t.lockIn(c, t.scope+"/other")
		if err != nil {
			return nil, err
		}
		tenure, err := t.lock(c)
		if err != nil {
			return nil, err
		}
		return tenure, t.unlock(other)
	})
}

func waiterGivesWay(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.waitsInVain(t.b, t.bound(), tenure); err != nil {
		return err
	}
	return t.unlock(tenure)
}

// waitsInVain is nil if c waits for so long, and is not granted what another one holds.
func (t *trial) waitsInVain(c Client, d time.Duration, held lock.Tenure) error {
	ctx, cancel := context.WithCancel(t.ctx) // without a deadline, which a backend could take for its own
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	began := time.Now()
	other, err := c.Lock(ctx, t.scope)
	switch {
	case err == nil:
		return fmt.Errorf("after %v a waiter was granted %+v though the holder of %+v lives, with a TTL of %v", time.Since(began), other.Grant(), held.Grant(), t.TTL)
	case ctx.Err() == nil:
		return fmt.Errorf("wait for a lock that is held: %w", err)
	}
	return nil
}
