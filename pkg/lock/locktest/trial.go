package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

	anew atomic.Int64 // calls that were made again
}

func law(name string, check func(*trial) error, doc string) Law {
	return Law{Name: name, Doc: doc, Check: func(ctx context.Context, s Subject) error { return try(ctx, s, check) }}
}

// try checks in a trial of its own.
func try(ctx context.Context, s Subject, check func(*trial) error) error {
	t := &trial{Subject: s, ctx: ctx, scope: "locktest-" + rand.Text()}
	for _, c := range []*Client{&t.a, &t.b, &t.c} {
		var err error
		if *c, err = t.open(); err != nil {
			return err
		}
		defer c.Close()
	}
	return check(t)
}

// waiting is a law that waits for the end of a lease, or looks on for several leases.
func waiting(name string, check func(*trial) error, doc string) Law {
	l := law(name, check, doc)
	l.Waits = true
	return l
}

// restarting is a law that restarts the service.
func restarting(name string, check func(*trial) error, doc string) Law {
	l := law(name, restarted(check), doc)
	l.Restarts = true
	return l
}

// restartingLong is a law that restarts the service, and looks on for more than a lease.
func restartingLong(name string, check func(*trial) error, doc string) Law {
	l := restarting(name, check, doc)
	l.Waits = true
	return l
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
	inspects     = only(func(s Subject) bool { return s.Inspects }, "the subject does not tell who holds a lock")
	reentrant    = only(func(s Subject) bool { return s.Reentrant }, "the subject is not re-entrant")
	notReentrant = only(func(s Subject) bool { return !s.Reentrant }, "the subject is re-entrant")
)

// sharing makes a law of one that is about shared locks.
func sharing(check func(*trial) error) func(*trial) error {
	return shared(func(t *trial) error {
		if b := t.a.Backend.(patient).Backend; !is[lock.Sharer](b) {
			return fmt.Errorf("the subject has shared locks, and its Backend, a %T, is no lock.Sharer", b)
		}
		return check(t)
	})
}

// shares reports whether a law that is about all locks asks for shared ones, too.
func (t *trial) shares() bool { return t.Shared && is[lock.Sharer](t.c.Backend.(patient).Backend) }

// is reports whether a backend is more than that: an I.
func is[I any](b lock.Backend) bool {
	_, ok := b.(I)
	return ok
}

func (t *trial) open() (Client, error) {
	c, err := t.Open(t.ctx)
	if err != nil {
		return c, fmt.Errorf("open a client: %w", err)
	}
	c.Backend = patient{c.Backend, t.again}
	return c, nil
}

// again is whether a call that returned err is to be made again.
func (t *trial) again(err error) bool {
	if t.Again == nil || !t.Again(err) {
		return false
	}
	t.anew.Add(1)
	return true
}

// bound is how long anything may take that a crash holds up.
func (t *trial) bound() time.Duration { return t.TTL + t.Slack }

func (t *trial) lock(c Client) (lock.Tenure, error) { return t.lockIn(c, t.scope) }

func (t *trial) lockIn(c Client, scope string) (lock.Tenure, error) { return t.take(c.Lock, scope) }

func (t *trial) rlock(c Client) (lock.Tenure, error) { return t.take(sharer(c).RLock, t.scope) }

func (t *trial) take(from func(context.Context, string) (lock.Tenure, error), scope string) (lock.Tenure, error) {
	return t.within(t.bound(), from, scope)
}

func (t *trial) within(d time.Duration, from func(context.Context, string) (lock.Tenure, error), scope string) (lock.Tenure, error) {
	ctx, cancel := context.WithTimeout(t.ctx, d)
	defer cancel()
	began := time.Now()
	tenure, err := from(ctx, scope)
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

// steadily is nil if one of three trials is. On a machine so slow that a lease runs out on
// which the check relies, the tenure ends by right; where the backend is wrong each trial
// shows it.
func steadily(check func(*trial) error) func(*trial) error {
	return func(t *trial) error {
		err := check(t)
		for range 2 {
			if err == nil || errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			err = try(t.ctx, t.Subject, check)
		}
		return err
	}
}

// crowd opens some more clients. leave closes them.
func (t *trial) crowd(n int) (clients []Client, leave func(), err error) {
	leave = func() {
		for _, c := range clients {
			c.Close()
		}
	}
	for range n {
		c, err := t.open()
		if err != nil {
			leave()
			return nil, nil, err
		}
		clients = append(clients, c)
	}
	return clients, leave, nil
}

// outcome is what a call returned that took the lock in the background.
type outcome struct {
	tenure lock.Tenure
	err    error
}

// background begins a call that has to wait, and gives it time to get into the queue.
func (t *trial) background(take taking) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		tenure, err := take.call()
		c <- outcome{tenure, err}
	}()
	t.queue()
	return c
}

// servedOrTold is the outcome of one who waits for a lock that was released or has expired, and whose wait has no deadline.
func (t *trial) servedOrTold(waiter <-chan outcome) (outcome, error) {
	select {
	case got := <-waiter:
		return got, nil
	case <-time.After(4 * t.bound()):
		return outcome{}, fmt.Errorf("one who waits is neither served nor told %v after the holder's Unlock", 4*t.bound())
	}
}

// turn is the outcome of one of several that wait.
type turn struct {
	place int
	outcome
}

// turns gives the outcomes of those that wait, as they come.
func turns(waits ...<-chan outcome) <-chan turn {
	got := make(chan turn, len(waits))
	for i, wait := range waits {
		go func() { got <- turn{i, <-wait} }()
	}
	return got
}

// queue stands for no event: nothing tells that one who waits is in the queue.
func (t *trial) queue() { time.Sleep(t.moment()) }

// moment is long enough for a call, and short beside a lease.
func (t *trial) moment() time.Duration { return min(t.TTL/8, time.Second) }

// long is how long a law looks on where something may come late: a renewal that is the
// last one, a token that is forgotten.
func (t *trial) long() time.Duration { return max(6*t.TTL, t.bound()) }

// throughout is nil if check is, as long as d takes.
func (t *trial) throughout(d time.Duration, check func() error) error {
	for began := time.Now(); time.Since(began) < d; {
		if err := check(); err != nil {
			return fmt.Errorf("%v later: %w", time.Since(began), err)
		}
		time.Sleep(t.TTL / 5) // stands for no event: the next look
	}
	return nil
}

// lost is nil if the tenure's holder learns within the bound, from now, that it is over, and
// not by its own doing.
func (t *trial) lost(tenure lock.Tenure) error {
	if err := t.told(tenure); err != nil {
		return err
	}
	return lossKnown(tenure)
}

// lostNow is nil if the tenure's holder knows that it is over, and not by its own doing.
func lostNow(tenure lock.Tenure) error {
	select {
	case <-tenure.Done():
	default:
		return errors.New("Done is open")
	}
	return lossKnown(tenure)
}

// lossKnown is nil if Err says that the tenure is over, and not by its holder's doing.
func lossKnown(tenure lock.Tenure) error {
	if err := tenure.Err(); errors.Is(err, lock.ErrCutOff) == errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("Err is %v, want ErrCutOff or ErrLost", err)
	}
	return nil
}

// current is nil if the tenure's holder has heard of no end.
func current(tenure lock.Tenure) error {
	select {
	case <-tenure.Done():
		return fmt.Errorf("Done of %+v is closed: %v", tenure.Grant(), tenure.Err())
	default:
	}
	if err := tenure.Err(); err != nil {
		return fmt.Errorf("Done of %+v is open, and Err is %w", tenure.Grant(), err)
	}
	return nil
}

// same is nil if a tenure's grant is what it was.
func same(tenure lock.Tenure, was lock.Grant, when string) error {
	if is := tenure.Grant(); is != was {
		return fmt.Errorf("%+v became %+v %s", was, is, when)
	}
	return nil
}
