package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenQueues are fair subjects that are unfair in one situation only.
var brokenQueues = []brokenBackend{
	{"the fifth to come is served first", from(sharing, serving(queue{
		next: func(modes []fence.Mode) int {
			if len(modes) == 5 {
				return 4
			}
			return 0
		},
	})), []string{"waiters are served in their order"}},
	{"the last takes the place of one who leaves", from(sharing, serving(queue{lastMovesUp: true})), []string{"the order outlives one who leaves"}},
	{"readers join readers past a writer that has come lately", from(sharing, serving(queue{readersJoin: func(since time.Time) bool { return time.Since(since) < ttl/2 }})), []string{"readers do not overtake a waiting writer"}},
	{"of three who wait readers are served first", from(sharing, serving(queue{
		next: func(modes []fence.Mode) int {
			if i := slices.Index(modes, fence.Shared); len(modes) > 2 && i >= 0 {
				return i
			}
			return 0
		},
	})), []string{"readers and writers are served in their order"}},
	{"readers join readers past a writer that has waited long", from(sharing, serving(queue{readersJoin: func(since time.Time) bool { return time.Since(since) > ttl }})), []string{"nobody outlasts a living holder of the other mode"}},
	{"a place in the queue lasts for two TTLs, and is then the last", from(sharing, opening(func(c *locktest.Client) {
		r := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{methods{c.TryLock, renewingPlace(c.Lock)}, methods{r.TryRLock, r.RLock}}
	})), []string{"the order outlives a holder that crashes"}},
	{"who has waited for five TTLs gives up", opening(func(c *locktest.Client) {
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			short, cancel := context.WithTimeout(ctx, 5*ttl)
			defer cancel()
			t, err := inner(short, scope)
			if err != nil && short.Err() != nil && ctx.Err() == nil {
				return nil, fence.Definite.New("no answer for long")
			}
			return t, err
		}}
	}), []string{"a living holder keeps the lock when it releases another"}},
	{"a client waits for one lock at a time", opening(func(c *locktest.Client) {
		inner, turn := c.Lock, make(chan struct{}, 1)
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			defer func() { <-turn }()
			return inner(ctx, scope)
		}}
	}), []string{"scopes do not exclude each other"}},
	{"an unlock waits where eight calls of the client do", opening(func(c *locktest.Client) {
		inner := c.Lock
		var waiting atomic.Int64
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			waiting.Add(1)
			defer waiting.Add(-1)
			t, err := inner(ctx, scope)
			if err != nil {
				return nil, err
			}
			return unlockedTenure{t, func(ctx context.Context) error {
				for waiting.Load() >= 8 && ctx.Err() == nil {
					time.Sleep(ttl / 100)
				}
				if waiting.Load() >= 8 {
					return errors.Join(ctx.Err(), t.Unlock(context.WithoutCancel(ctx)))
				}
				return t.Unlock(ctx)
			}}, nil
		}}
	}), []string{"scopes do not exclude each other"}},
	{"who waits behind a waiter that crashed comes in when the place of that one ends", happening(events{crashed: func(all []*waiter, client int) {
		for i, one := range all[:max(len(all)-1, 0)] {
			if behind := all[i+1]; one.client == client && behind.scope == one.scope {
				time.AfterFunc(ttl, behind.comeIn)
			}
		}
	}}), []string{"a waiter does not outlast a living holder"}},
	{"who comes to wait behind a waiter that crashed comes in when the place of that one ends", happening(events{came: func(all []*waiter, last *waiter) {
		for _, one := range all {
			if one != last && one.scope == last.scope && one.crashed.Load() {
				time.AfterFunc(ttl, last.comeIn)
			}
		}
	}}), []string{"a waiter does not outlast a living holder"}},
	{"who waits behind a waiter that crashed hears of nothing any more", happening(events{crashed: func(all []*waiter, client int) {
		for i, one := range all {
			if one.client == client {
				deafen(all[i+1:], one.scope)
			}
		}
	}}), []string{"a crash serves those who wait already", "a waiter does not outlast a living holder"}},
	{"where holder and first waiter crash the second one waits for ever", happening(events{crashed: func(all []*waiter, client int) {
		for _, one := range all {
			if one.crashed.Load() && one.client != client {
				deafen(all, one.scope)
			}
		}
	}}), []string{"a crash serves those who wait already"}},
	{"a waiter that was cut off for a moment hears of nothing any more", happening(events{woken: func(all []*waiter, client int) {
		for _, one := range all {
			one.deaf.Store(one.deaf.Load() || one.client == client)
		}
	}}), []string{"a holder that was cut off for a moment keeps the lock or is told"}},
	{"the news of an unlock is lost with a waiter that leaves", happening(events{left: func(all []*waiter, one *waiter) { deafen(all, one.scope) }}), []string{"a waiter whose context ends leaves the queue"}},
	{"a restart lets the first of two waiters in beside the holder", happening(letsFirstIn), []string{"a waiter outlasts a service restart"}},
	{"a restart lets the first of two waiters in, and tokens do not tell", from(tokenless, happening(letsFirstIn)), []string{
		"a waiter outlasts a service restart"}},
	{"who waits over a second restart waits for ever", happening(events{restarted: func(all []*waiter) {
		for _, one := range all {
			if one.restarts == 2 {
				one.deaf.Store(true)
			}
		}
	}}), []string{"grants are new after service restarts"}},
	{"who has waited over a second restart has the first token", happening(events{granted: func(one *waiter, t *tenure) {
		if one.restarts > 1 {
			t.grant = func(g lock.Grant) lock.Grant { g.Token = 1; return g }
		}
	}}), []string{"grants are new after service restarts"}},
	{"who has waited over a restart is not renewed", happening(events{granted: func(one *waiter, t *tenure) {
		if one.restarts > 0 {
			expiring(t)
		}
	}}), []string{"a holder over a service restart keeps the lock or is told"}},
}

// unlockedTenure has an Unlock of its own.
type unlockedTenure struct {
	lock.Tenure
	unlock func(context.Context) error
}

func (t unlockedTenure) Unlock(ctx context.Context) error { return t.unlock(ctx) }

// renewingPlace takes another place in the queue every two TTLs.
func renewingPlace(wait lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		for {
			short, cancel := context.WithTimeout(ctx, 2*ttl)
			t, err := wait(short, scope)
			again := err != nil && short.Err() != nil && ctx.Err() == nil
			cancel()
			if !again {
				return t, err
			}
		}
	}
}

// waiter is a call of Lock that is under way.
type waiter struct {
	client   int
	scope    string
	restarts int // of the service, since it came
	crashed  atomic.Bool
	deaf     atomic.Bool // waits until its context is done
	past     atomic.Bool // comes in past the holder
	leave    context.CancelFunc
}

func (w *waiter) comeIn() {
	w.past.Store(true)
	w.leave()
}

// deafen makes those deaf that wait for a lock and have not crashed.
func deafen(all []*waiter, scope string) {
	for _, one := range all {
		if one.scope == scope && !one.crashed.Load() {
			one.deaf.Store(true)
		}
	}
}

// events say what becomes of those who wait, all in the order in which they came, when something has happened.
type events struct {
	crashed, woken func(all []*waiter, client int)
	restarted      func(all []*waiter)
	came           func(all []*waiter, last *waiter)
	left           func(all []*waiter, one *waiter) // when it was its turn
	granted        func(one *waiter, t *tenure)
}

// letsFirstIn is a restart that lets the first of two waiters in beside the holder.
var letsFirstIn = events{restarted: func(all []*waiter) {
	if len(all) > 1 {
		all[0].comeIn()
	}
}}

// happening is a subject on which the events have an effect.
func happening(e events) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		var mu sync.Mutex
		var all []*waiter
		opened := 0
		s.Restart = func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			for _, one := range all {
				one.restarts++
			}
			if e.restarted != nil {
				e.restarted(all)
			}
			return nil
		}
		return opening(func(c *locktest.Client) {
			opened++
			me, inner := opened, *c
			c.Crash = func() {
				inner.Crash()
				mu.Lock()
				defer mu.Unlock()
				for _, one := range all {
					one.crashed.Store(one.crashed.Load() || one.client == me)
				}
				if e.crashed != nil {
					e.crashed(all, me)
				}
			}
			c.Wake = func() {
				inner.Wake()
				mu.Lock()
				defer mu.Unlock()
				if e.woken != nil {
					e.woken(all, me)
				}
			}
			c.Backend = methods{inner.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
				until, leave := context.WithCancel(ctx)
				defer leave()
				one := &waiter{client: me, scope: scope, leave: leave}
				mu.Lock()
				all = append(all, one)
				if e.came != nil {
					e.came(all, one)
				}
				mu.Unlock()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					all = slices.DeleteFunc(all, func(other *waiter) bool { return other == one })
				}()
				t, err := changing(inner.Lock, func(t *tenure) {
					if e.granted != nil {
						e.granted(one, t)
					}
				})(until, scope)
				if err != nil && ctx.Err() == nil && one.past.Load() {
					return elsewhere(inner.Lock)(ctx, scope)
				}
				if err != nil {
					return nil, err
				}
				time.Sleep(ttl / 1000) // in which the cancellation comes
				if ctx.Err() != nil && e.left != nil {
					mu.Lock()
					e.left(all, one)
					mu.Unlock()
					one.deaf.Store(true)
				}
				if !one.deaf.Load() {
					return t, nil
				}
				_ = t.Unlock(context.WithoutCancel(ctx))
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		})(s)
	}
}

// queue is an order in which waiters are served. The zero queue is a fair one.
type queue struct {
	next        func(modes []fence.Mode) int // which of those that wait is served next
	lastMovesUp bool                         // takes the place of one who leaves
	// readersJoin has readers come in without a place where readers have the lock, and the first has waited since then.
	readersJoin func(since time.Time) bool
}

// serving has those who wait look again and again whether it is their turn and the lock is
// free.
func serving(q queue) func(locktest.Subject) locktest.Subject {
	type place struct {
		mode  fence.Mode
		since time.Time
	}
	return func(s locktest.Subject) locktest.Subject {
		var mu sync.Mutex
		lines := make(map[string][]*place)
		turn := func(p *place, scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			var modes []fence.Mode
			for _, other := range lines[scope] {
				modes = append(modes, other.mode)
			}
			next := 0
			if q.next != nil {
				next = q.next(modes)
			}
			return lines[scope][next] == p
		}
		joins := func(scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			line := lines[scope]
			return q.readersJoin != nil && len(line) > 0 && q.readersJoin(line[0].since)
		}
		leave := func(p *place, scope string, served bool) {
			mu.Lock()
			defer mu.Unlock()
			line := lines[scope]
			i, last := slices.Index(line, p), len(line)-1
			if q.lastMovesUp && !served && i < last {
				line[i] = line[last]
				lines[scope] = line[:last]
				return
			}
			lines[scope] = slices.Delete(line, i, i+1)
		}
		waiting := func(try lockFunc, mode fence.Mode) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if mode == fence.Shared && joins(scope) {
					if t, err := try(ctx, scope); !errors.Is(err, lock.ErrLocked) {
						return t, err
					}
				}
				p := &place{mode, time.Now()}
				mu.Lock()
				lines[scope] = append(lines[scope], p)
				mu.Unlock()
				for {
					if turn(p, scope) {
						if t, err := try(ctx, scope); !errors.Is(err, lock.ErrLocked) {
							leave(p, scope, err == nil)
							return t, err
						}
					}
					select {
					case <-time.After(ttl / 100):
					case <-ctx.Done():
						leave(p, scope, false)
						return nil, ctx.Err()
					}
				}
			}
		}
		return opening(func(c *locktest.Client) {
			tryLock, tryRLock := c.TryLock, c.Backend.(lock.Sharer).TryRLock
			c.Backend = sharingMethods{
				methods{tryLock, waiting(tryLock, fence.Exclusive)},
				methods{tryRLock, waiting(tryRLock, fence.Shared)},
			}
		})(s)
	}
}
