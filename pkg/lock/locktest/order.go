package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of the order of those who wait.
//
// On a machine so slow that the second one comes before the first the order is the
// other one by right.

// place says of a waiter how it takes the lock, and whether it leaves the queue
// before the lock is free.
type place struct {
	take   func(context.Context, string) (lock.Tenure, error)
	leaves bool
	late   time.Duration // so long after the one before it
}

// served lets some wait, one after the other, for a lock that the holder has until end. It is nil if
// those that stay are granted the lock in their order.
func (t *trial) served(holder lock.Tenure, end func(lock.Tenure) error, places ...place) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		got    []int
		errs   []error
		want   []int
		cancel = make([]context.CancelFunc, len(places))
	)
	for i, p := range places {
		if !p.leaves {
			want = append(want, i+1)
		}
		var ctx context.Context
		ctx, cancel[i] = context.WithTimeout(t.ctx, 4*t.bound())
		defer cancel[i]()
		time.Sleep(p.late) // stands for no event: those before it wait long
		group.Go(func() {
			tenure, err := p.take(ctx, t.scope)
			mu.Lock()
			if err == nil {
				got = append(got, i+1)
			}
			mu.Unlock()
			if err == nil {
				err = t.unlock(tenure)
			}
			if err != nil && !p.leaves {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("of the one at place %d: %w", i+1, err))
			}
		})
		t.queue()
	}
	for i, p := range places {
		if p.leaves {
			cancel[i]()
			t.queue()
		}
	}
	mu.Lock()
	early := slices.Clone(got)
	mu.Unlock()
	err := end(holder)
	group.Wait()
	switch {
	case len(early) > 0:
		return fmt.Errorf("of %d who waited, %v were granted the lock while %+v was current", len(places), early, holder.Grant())
	case err != nil:
		return err
	case len(errs) > 0:
		return errs[0]
	case !slices.Equal(got, want):
		return fmt.Errorf("those who waited were granted the lock in the order %v, want %v", got, want)
	}
	return nil
}

// known has each client take the lock once. The first call of a client takes longer than the others, as its connections begin
// with it: who waits by it would come after the next one.
func (t *trial) known(clients []Client) error {
	for _, c := range clients {
		if _, err := t.pass(c); err != nil {
			return err
		}
	}
	return nil
}

// queueing is a check of an order.
func queueing(places func(t *trial, more []Client) []place, hold func(*trial) (lock.Tenure, error)) func(*trial) error {
	return func(t *trial) error {
		more, leave, err := t.crowd(2)
		if err != nil {
			return err
		}
		defer leave()
		if err := t.known(append(more, t.b, t.c)); err != nil {
			return err
		}
		holder, err := hold(t)
		if err != nil {
			return err
		}
		return t.served(holder, t.unlock, places(t, more)...)
	}
}

func holding(t *trial) (lock.Tenure, error)     { return t.lock(t.a) }
func holdingRead(t *trial) (lock.Tenure, error) { return t.rlock(t.a) }

var inOrder = queueing(func(t *trial, more []Client) []place {
	places := []place{{take: t.b.Lock}, {take: t.c.Lock}, {take: more[0].Lock}, {take: more[1].Lock}}
	if t.Reentrant { // another place of a client is its first one
		return places
	}
	places = append(places, places[0])
	if !t.FixedLease { // which could be over before all wait
		places = append(places, places[:2]...)
	}
	return places
}, holding)

// inOrderAfterCrash: nothing but the end of the lease tells those who wait that it is their turn. The first of them has
// waited long.
func inOrderAfterCrash(t *trial) error {
	if err := t.known([]Client{t.b, t.c}); err != nil {
		return err
	}
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	end := func(lock.Tenure) error { return t.crash(t.a) }
	second := place{take: t.c.Lock}
	if !t.FixedLease { // which would be over before
		second.late = t.TTL
	}
	places := []place{{take: t.b.Lock}, second}
	if !t.Reentrant {
		places = append(places, place{take: t.b.Lock}, place{take: t.c.Lock})
	}
	return t.served(holder, end, places...)
}

var inOrderThoughOneLeaves = queueing(func(t *trial, more []Client) []place {
	return []place{{take: t.b.Lock}, {take: t.c.Lock, leaves: true}, {take: more[0].Lock}, {take: more[1].Lock}}
}, holding)

var modesInOrder = queueing(func(t *trial, more []Client) []place {
	return []place{{take: sharer(t.b).RLock}, {take: t.c.Lock}, {take: sharer(more[0]).RLock}, {take: more[1].Lock}}
}, holding)

var writerNotOvertaken = queueing(func(t *trial, more []Client) []place {
	return []place{{take: t.b.Lock}, {take: sharer(t.c).RLock}}
}, holdingRead)

// writerNotOvertakenLate: a place in the queue lasts for longer than a lease.
func writerNotOvertakenLate(t *trial) error {
	if !t.Fair {
		return nil
	}
	return queueing(func(t *trial, _ []Client) []place {
		return []place{{take: t.b.Lock}, {take: sharer(t.c).RLock, late: t.TTL}}
	}, holdingRead)(t)
}
