package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of tenures that are renewed.

// livingHolder: others have asked for the lock in vain meanwhile, and its own client has.
func livingHolder(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		tenure, err := t.lock(c)
		if err != nil {
			return nil, err
		}
		asking := []Client{t.c}
		if !t.Reentrant {
			asking = append(asking, c)
		}
		for _, other := range asking {
			if err := errors.Join(t.waitsInVain(other, t.TTL/8, tenure), t.held(other)); err != nil {
				return nil, err
			}
		}
		return tenure, nil
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

// cutOffs is how often a client is cut off for a moment.
const cutOffs = 3

// shortCutOff: the client that holds locks waits for one, too.
func shortCutOff(t *trial) error {
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	holder, err := t.lock(t.b)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(t.ctx)
	defer leave()
	waiter := t.background(waitingFor(ctx, t.a, t.scope))
	for range cutOffs {
		if err := t.cutOff(t.a); err != nil {
			return err
		}
	}
	if err := t.livesOrTold(t.TTL+t.TTL/2, t.b, tenures...); err != nil {
		return fmt.Errorf("after the holder was cut off %d times for half of the TTL: %w", cutOffs, err)
	}
	if err := t.unlock(holder); err != nil {
		return err
	}
	if _, err := t.servedOrTold(waiter); err != nil {
		return fmt.Errorf("to a client that was cut off %d times for half of the TTL: %w", cutOffs, err)
	}
	return nil
}

// cutOff lasts for longer than the pause between two renewals of most backends.
func (t *trial) cutOff(c Client) error {
	if err := t.crash(c); err != nil {
		return err
	}
	time.Sleep(t.TTL / 2) // stands for no event: a renewal fails
	if err := t.wake(c); err != nil {
		return err
	}
	time.Sleep(t.TTL / 2) // stands for no event: a renewal succeeds
	return nil
}

// lossEndsNoOther: the client has lost two locks before. One that took the first over keeps it. The client has the second
// again, and unlocks it by the tenure that is over. It has many others.
func lossEndsNoOther(t *trial) error {
	lost, next, err := t.loseTwo()
	if err != nil {
		return err
	}
	tenures, err := t.takeEach(t.a)
	if err != nil {
		return err
	}
	scopes := []string{lost.Grant().Scope}
	for i := range manyScopes / 2 {
		scopes = append(scopes, fmt.Sprint(t.scope, "/more/", i))
	}
	for _, scope := range scopes {
		tenure, err := t.lockIn(t.a, scope)
		if err != nil {
			return err
		}
		tenures = append(tenures, tenure)
	}
	_ = t.unlock(lost) // which is about another law
	if err := t.waitsInVain(t.c, t.long(), next); err != nil {
		return err
	}
	return t.live(tenures...)
}

// loseTwo has a lose two locks. Another one has had the first, and has the second.
func (t *trial) loseTwo() (lost, next lock.Tenure, err error) {
	if lost, err = t.lockIn(t.a, t.scope+"/lost"); err != nil {
		return nil, nil, err
	}
	if _, err = t.lockAndCrash(); err != nil {
		return nil, nil, err
	}
	other, err := t.lockIn(t.b, lost.Grant().Scope)
	if err != nil {
		return nil, nil, err
	}
	if err := t.unlock(other); err != nil {
		return nil, nil, err
	}
	if next, err = t.lock(t.b); err != nil {
		return nil, nil, err
	}
	return lost, next, t.wake(t.a)
}

// live is nil if tenures are current, for their holders as for c.
func (t *trial) live(tenures ...lock.Tenure) error {
	for _, tenure := range tenures {
		if err := current(tenure); err != nil {
			return fmt.Errorf("though the client lives: %w", err)
		}
		if other, err := t.take(t.c.TryLock, tenure.Grant().Scope); !errors.Is(err, lock.ErrLocked) {
			return fmt.Errorf("while %+v was current, TryLock returned %v and %v, want ErrLocked", tenure.Grant(), other, err)
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

// otherLockLives: the client has released another lock meanwhile, and an earlier tenure of this one for a second time.
func otherLockLives(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		other, err := t.lockIn(c, t.scope+"/other")
		if err != nil {
			return nil, err
		}
		old, err := t.lock(c)
		if err != nil {
			return nil, err
		}
		if err := t.unlock(old); err != nil {
			return nil, err
		}
		tenure, err := t.lock(c)
		if err != nil {
			return nil, err
		}
		_ = t.unlock(old) // which is about another law
		return tenure, t.unlock(other)
	})
}

// waiterGivesWay: the waiter has another lock, and keeps it.
func waiterGivesWay(t *trial) error {
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	other, err := t.lockIn(t.b, t.scope+"/other")
	if err != nil {
		return err
	}
	if err := t.waitsInVain(t.b, t.bound(), tenure); err != nil {
		return err
	}
	if err := t.live(other); err != nil {
		return fmt.Errorf("while it waits for another lock: %w", err)
	}
	return t.unlock(tenure)
}

// behindCrashedWaiter: the place of a waiter that has crashed ends, which is no turn of those behind it. One of them came
// after the crash.
func behindCrashedWaiter(t *trial) error {
	if t.b.Crash == nil { // nothing that a client leaves behind ends by itself
		return nil
	}
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(t.ctx)
	defer leave()
	t.background(waitingFor(ctx, t.b, t.scope))
	before := t.background(t.locking(t.c))
	t.b.Crash()
	got := turns(before, t.background(t.locking(t.c)))
	select {
	case one := <-got:
		return fmt.Errorf("one who waits behind a waiter that crashed got %v and %v while %+v was current", one.tenure, one.err, holder.Grant())
	case <-time.After(t.bound()):
	}
	leave()
	_ = t.unlock(holder) // here and below: what an Unlock returns is about other laws
	for range 2 {
		one := <-got
		if one.err != nil {
			return fmt.Errorf("one who waited behind a waiter that crashed: %w", one.err)
		}
		_ = t.unlock(one.tenure)
	}
	return nil
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
