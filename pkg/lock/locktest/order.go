package locktest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of those who come again, and of the order of those who wait.

// On a machine so slow that the second one comes before the first the order is the
// other one by right; without a queue it is so every time.
func inOrder(t *trial) error { return attempts(func() error { return firstComesFirst(t) }) }

func firstComesFirst(t *trial) error {
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	names, errs := make(chan string, 2), make(chan error, 2)
	wait := func(name string, c Client) {
		tenure, err := c.Lock(ctx, t.scope)
		if err == nil {
			names <- name
			err = t.unlock(tenure)
		}
		errs <- err
	}
	for name, c := range map[string]Client{"first": t.b, "second": t.c} {
		group.Go(func() {
			if name == "second" {
				time.Sleep(t.TTL / 8) // stands for no event: nothing tells that the first is in the queue
			}
			wait(name, c)
		})
	}
	time.Sleep(t.TTL / 4) // stands for no event, as above
	if err := t.unlock(holder); err != nil {
		return err
	}
	for range 2 {
		if err := <-errs; err != nil {
			return fmt.Errorf("of one who waits: %w", err)
		}
	}
	if first := <-names; first != "first" {
		return fmt.Errorf("the %s to come was granted the lock first", first)
	}
	return nil
}

// enter lets a have the lock several times.
func (t *trial) enter() ([]lock.Tenure, error) {
	var tenures []lock.Tenure
	for _, take := range []func(Client) (lock.Tenure, error){t.lock, t.lock, t.tryLock} {
		tenure, err := take(t.a)
		if err != nil {
			return nil, fmt.Errorf("of the holder itself: %w", err)
		}
		tenures = append(tenures, tenure)
	}
	return tenures, nil
}

func reentryKeepsGrant(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	for _, again := range tenures[1:] {
		if was, is := tenures[0].Grant(), again.Grant(); is != was {
			return fmt.Errorf("the holder of %+v was granted %+v", was, is)
		}
	}
	return nil
}

func lastUnlockFrees(t *trial) error {
	tenures, err := t.enter()
	if err != nil {
		return err
	}
	for i, tenure := range tenures {
		if err := t.held(t.b); err != nil {
			return fmt.Errorf("after %d of %d unlocks: %w", i, len(tenures), err)
		}
		if err := t.unlock(tenure); err != nil {
			return err
		}
	}
	return t.free(t.b)
}
