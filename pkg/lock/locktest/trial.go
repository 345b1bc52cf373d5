package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// trial is one check of one law: a scope that no other trial uses, and three
// clients. Every call on a backend is bounded, so that a broken one fails the
// check and does not hang it.
type trial struct {
	Subject
	ctx     context.Context
	scope   string
	a, b, c Client
}

func law(name string, check func(*trial) error, doc string) Law {
	return Law{Name: name, Doc: doc, Check: func(ctx context.Context, s Subject) error {
		t := &trial{Subject: s, ctx: ctx, scope: "locktest-" + rand.Text()}
		for _, c := range []*Client{&t.a, &t.b, &t.c} {
			var err error
			if *c, err = t.open(); err != nil {
				return err
			}
			defer c.Close()
		}
		return check(t)
	}}
}

// The laws that are only about subjects of some kind.

func only(fits func(Subject) bool, otherwise string) func(func(*trial) error) func(*trial) error {
	return func(check func(*trial) error) func(*trial) error {
		return func(t *trial) error {
			if !fits(t.Subject) {
				return fmt.Errorf("%s: %w", otherwise, errors.ErrUnsupported)
			}
			return check(t)
		}
	}
}

var (
	tokens       = only(func(s Subject) bool { return !s.NoToken }, "the subject has no ordered tokens")
	renewed      = only(func(s Subject) bool { return !s.FixedLease }, "the subject has a fixed lease")
	leased       = only(func(s Subject) bool { return s.FixedLease }, "the subject has no fixed lease")
	restarted    = only(func(s Subject) bool { return s.Restart != nil }, "the subject has no Restart")
	fair         = only(func(s Subject) bool { return s.Fair }, "the subject has no fair queue")
	shared       = only(func(s Subject) bool { return s.Shared }, "the subject has no shared locks")
	reentrant    = only(func(s Subject) bool { return s.Reentrant }, "the subject is not re-entrant")
	notReentrant = only(func(s Subject) bool { return !s.Reentrant }, "the subject is re-entrant")
)

// sharing makes a law of one that is about shared locks.
func sharing(check func(*trial) error) func(*trial) error {
	return shared(func(t *trial) error {
		if b := t.a.Backend.(patient).Backend; !isSharer(b) {
			return fmt.Errorf("the subject has shared locks, and its Backend, a %T, is no lock.Sharer", b)
		}
		return check(t)
	})
}

func isSharer(b lock.Backend) bool {
	_, ok := b.(lock.Sharer)
	return ok
}

func (t *trial) open() (Client, error) {
	c, err := t.Open(t.ctx)
	if err != nil {
		return c, fmt.Errorf("open a client: %w", err)
	}
	c.Backend = patient{c.Backend, t.Again}
	return c, nil
}

// bound is how long anything may take that a crash holds up.
func (t *trial) bound() time.Duration { return t.TTL + t.Slack }

func (t *trial) lock(c Client) (lock.Tenure, error) { return t.lockIn(c, t.scope) }

func (t *trial) lockIn(c Client, scope string) (lock.Tenure, error) { return t.take(c.Lock, scope) }

func (t *trial) rlock(c Client) (lock.Tenure, error) { return t.take(sharer(c).RLock, t.scope) }

func (t *trial) take(lock func(context.Context, string) (lock.Tenure, error), scope string) (lock.Tenure, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	began := time.Now()
	tenure, err := lock(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("no grant after %v, with a TTL of %v: %w", time.Since(began), t.TTL, err)
	}
	return tenure, nil
}

func (t *trial) unlock(tenure lock.Tenure) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	return tenure.Unlock(ctx)
}

// pass lets c have the lock and release it.
func (t *trial) pass(c Client) (lock.Grant, error) {
	tenure, err := t.lock(c)
	if err != nil {
		return lock.Grant{}, err
	}
	if err := t.unlock(tenure); err != nil {
		return lock.Grant{}, fmt.Errorf("unlock: %w", err)
	}
	return tenure.Grant(), nil
}

func (t *trial) tryLock(c Client) (lock.Tenure, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	return c.TryLock(ctx, t.scope)
}

func (t *trial) tryRLock(c Client) (lock.Tenure, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	return sharer(c).TryRLock(ctx, t.scope)
}

// held is nil if c finds that the lock is taken.
func (t *trial) held(c Client) error {
	tenure, err := t.tryLock(c)
	switch {
	case err == nil:
		return fmt.Errorf("TryLock granted %+v while another tenure was current", tenure.Grant())
	case !errors.Is(err, lock.ErrLocked):
		return fmt.Errorf("TryLock on a held lock: %w, want ErrLocked", err)
	}
	return nil
}

// free is nil if c finds that nobody has the lock or waits for it.
func (t *trial) free(c Client) error {
	tenure, err := t.tryLock(c)
	if err != nil {
		return fmt.Errorf("TryLock on a lock that nobody should hold or wait for: %w", err)
	}
	return t.unlock(tenure)
}

// told is nil if the tenure's holder learns within the bound, from now, that it is
// over.
func (t *trial) told(tenure lock.Tenure) error {
	select {
	case <-tenure.Done():
		return nil
	case <-time.After(t.bound()):
		return fmt.Errorf("Done is still open %v later", t.bound())
	}
}

func (t *trial) crash(c Client) error {
	if c.Crash == nil {
		return fmt.Errorf("the subject's clients have no Crash: %w", errors.ErrUnsupported)
	}
	c.Crash()
	return nil
}

func (t *trial) wake(c Client) error {
	if c.Wake == nil {
		return fmt.Errorf("the subject's clients have no Wake: %w", errors.ErrUnsupported)
	}
	c.Wake()
	return nil
}

// span is a tenure that is known to have been current from begin to end, in
// the order of one counter.
type span struct {
	grant      lock.Grant
	begin, end int64
}

// rounds is how often each client has the lock in a race.
const rounds = 5

// race lets the three clients have the lock in turns as they can get it. It
// returns all grants' begins and, of those that were current until they were
// released, the spans. On a machine so slow that a lease ran out, a tenure ends
// early by right, and the end of its span is not known.
func (t *trial) race() (begins, spans []span, err error) {
	var (
		counter atomic.Int64
		mu      sync.Mutex
		group   sync.WaitGroup
		errs    []error
	)
	turn := func(c Client) error {
		tenure, err := t.lock(c)
		if err != nil {
			return err
		}
		s := span{grant: tenure.Grant(), begin: counter.Add(1)}
		// Stands for no event: it gives a second holder time to come in.
		time.Sleep(t.TTL / 100)
		s.end = counter.Add(1)
		err = t.unlock(tenure)
		mu.Lock()
		defer mu.Unlock()
		begins = append(begins, s)
		if err == nil {
			spans = append(spans, s)
		} else if !errors.Is(err, lock.ErrLost) {
			return err
		}
		return nil
	}
	for _, c := range []Client{t.a, t.b, t.c} {
		group.Go(func() {
			for range rounds {
				if err := turn(c); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
					return
				}
			}
		})
	}
	group.Wait()
	return begins, spans, errors.Join(errs...)
}
