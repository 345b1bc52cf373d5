package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenAlone are subjects that break in one situation only.
var brokenAlone = []brokenBackend{
	{"the second of three clients that wait comes in", secondWaiterComesIn, []string{"one tenure at a time"}},
	{"the tenth client comes in past the holder", intruding(func(opened int) bool { return opened == 10 }), []string{"many contenders come in one at a time"}},
	{"a client's trylock gets its own lock again", regranting(false), []string{
		"a client excludes itself", "a client's trylocks exclude each other"}},
	{"locks of a client that ask at once are granted together", together, []string{"a client's waiters exclude each other"}},
	{"a version is cut off the scope", scoped(func(scope string) string { return strings.TrimSuffix(scope, "-2") }), []string{
		"scopes do not exclude each other", "a trylock's scopes are apart as a lock's"}},
	{"scopes are trimmed", scoped(func(scope string) string { return strings.TrimRight(scope, " ") }), []string{"names that look alike are scopes apart"}},
	{"scopes are composed", scoped(strings.NewReplacer("e\u0301", "\u00e9").Replace), []string{"names that look alike are scopes apart"}},
	{"bytes that are no text are one", scoped(func(scope string) string { return strings.ToValidUTF8(scope, "\ufffd") }), []string{"names that look alike are scopes apart"}},
	{"scopes end at a zero byte", scoped(func(scope string) string { scope, _, _ = strings.Cut(scope, "\x00"); return scope }), []string{"names that look alike are scopes apart"}},
	{"scopes are cut off", scoped(func(scope string) string { return scope[:min(len(scope), 64)] }), []string{"long names are scopes apart"}},
	{"scopes are cut off late", scoped(func(scope string) string { return scope[:min(len(scope), 500)] }), []string{"long names are scopes apart"}},
	{"a lock says that it is shared", opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, changing(c.Lock, func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Mode = fence.Shared; return g }
		})}
	}), []string{"a grant is a value"}},
	{"a client that comes again has the same token", counting(func(s *service, n *fence.Token) {
		if l := len(s.granted); l > 1 && clientOf(s.granted[l-1]) == clientOf(s.granted[l-2]) {
			*n--
		}
	}), []string{
		"tokens grow after a release", "a trylock grants as a lock does", "grants are new after service restarts"}},
	{"a client has 16 locks at the most", limited(16), []string{
		"scopes do not exclude each other", "a trylock's scopes are apart as a lock's"}},
	{"a wait without a deadline ends by itself", opening(func(c *locktest.Client) {
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if _, has := ctx.Deadline(); !has {
				soon, cancel := context.WithTimeout(ctx, ttl/2)
				defer cancel()
				ctx = soon
			}
			return inner(ctx, scope)
		}}
	}), []string{"a living holder keeps the lock when it releases another", "a waiter does not outlast a living holder"}},
	{"tokens have eight bits", tenures(func(*service) func(*tenure) {
		n := make(map[string]uint8)
		return func(t *tenure) {
			scope := t.Tenure.Grant().Scope
			n[scope] = n[scope]%255 + 1
			token := fence.Token(n[scope])
			t.grant = func(g lock.Grant) lock.Grant { g.Token = token; return g }
		}
	}), []string{"tokens grow after a release"}},
	{"tokens restart after idleness", idle, []string{"tokens grow after idleness"}},
	{"tokens restart with the third start of the service", restartingThird, []string{"grants are new after service restarts"}},
	{"who waits over a restart waits for ever", deaf, []string{"grants are new after service restarts", "a waiter outlasts a service restart"}},
	{"a second unlock frees another client's lock", unlockingOf(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); t.released() && call == 2 && clientOf(last) != clientOf(t) {
			_ = last.Tenure.Unlock(ctx)
		}
		return err
	}), []string{
		"a second unlock frees nothing", "a trylock's tenure ends as a lock's does"}},
	{"a second late unlock frees another client's lock", unlockingOf(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); !t.released() && call == 2 && clientOf(last) != clientOf(t) {
			_ = last.Tenure.Unlock(ctx)
		}
		return err
	}), []string{
		"a late unlock frees nothing", "an unlock without an answer says so",
		"a trylock's holder that wakes up is as a lock's"}},
	{"a late unlock frees the lock that is current", unlockingOf(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); errors.Is(err, lock.ErrLost) && call == 1 && clientOf(last) != clientOf(t) {
			_ = last.Tenure.Unlock(ctx)
		}
		return err
	}), []string{
		"a late unlock frees nothing", "a trylock's holder that wakes up is as a lock's"}},
	{"a late unlock returns nil where the successor has gone", unlockingOf(func(_ context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); errors.Is(err, lock.ErrLost) && call == 1 && last != t && last.unlocked.Load() {
			return nil
		}
		return err
	}), []string{
		"a late unlock says so when the successor has gone", "a trylock's holder that wakes up is as a lock's"}},
	{"a third unlock returns nil", unlockingOf(func(_ context.Context, _ *service, _ *tenure, call int, err error) error {
		if call == 3 {
			return nil
		}
		return err
	}), []string{
		"an unlock of what is over says so", "a trylock's tenure ends as a lock's does"}},
	{"an unlock without an answer says that the tenure was lost", locking(func(t *tenure) {
		t.unlock = func(_ context.Context, err error) error {
			if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
				return lock.ErrLost
			}
			return err
		}
	}), []string{"an unlock without an answer says so"}},
	{"an unlock under a context that is done is forgotten", opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, forgetful(c.Lock)}
	}), []string{"an unlock under a context that is done frees the lock or says so"}},
	{"an unlock under a context that is done frees the lock later, and returns nil", opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, puttingOff(c.Lock, func(t lock.Tenure) {
			time.AfterFunc(ttl/2, func() { _ = t.Unlock(context.Background()) })
		})}
	}), []string{"an unlock under a context that is done frees the lock or says so"}},
	{"a renewal takes the lock from the successor", waking(func(s *service, client string, _ func(string)) {
		lost := func(t *tenure) bool { return clientOf(t) == client && isLost(t) }
		if last := s.last(); clientOf(last) != client && slices.ContainsFunc(s.all(), lost) {
			_ = last.Tenure.Unlock(context.Background())
		}
	}), []string{"a holder that wakes up steals nothing"}},
	{"a renewal takes a lock that is free", waking(func(s *service, client string, lock func(scope string)) {
		own := func(t *tenure) bool { return clientOf(t) == client }
		all := s.all()
		if i := slices.IndexFunc(all, own); i >= 0 {
			lock(all[i].Grant().Scope)
		}
	}), []string{
		"what is over stays over", "a trylock's holder that wakes up is as a lock's"}},
	{"who has a successor is not told", untold, []string{"the holder is told on loss"}},
	{"a loss is forgotten at the unlock", locking(forgettingLoss), []string{"a loss stays known"}},
	{"a crash frees the last two locks only", crashFreesTwo, []string{"a crash frees the lock"}},
	{"who waits hears of unlocks only", hearingUnlocks, []string{"a crash serves those who wait already"}},
	{"a client's first tenure is renewed three times", firstIsShort, []string{"a living holder keeps the lock"}},
	{"who has waited is not renewed", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if t, err := inner.TryLock(ctx, scope); !errors.Is(err, lock.ErrLocked) {
				return t, err
			}
			return changing(inner.Lock, expiring)(ctx, scope)
		}}
	}), []string{
		"a living holder that has waited keeps the lock",
		"a holder over a service restart keeps the lock or is told"}},
	{"an unlock ends the renewal of the client's other locks", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.unlock = func(_ context.Context, err error) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				for _, other := range s.granted {
					if other != t && !other.unlocked.Load() && clientOf(other) == clientOf(t) {
						expiring(other)
					}
				}
				return err
			}
		}
	}), []string{"a living holder keeps the lock when it releases another"}},
	{"a waiter that has waited long stays", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := inner.Lock(ctx, scope)
			if err != nil && time.Since(began) > ttl/5 {
				go inner.Lock(context.WithoutCancel(ctx), scope)
				time.Sleep(ttl / 1000) // until it is in the queue
			}
			return t, err
		}}
	}), []string{"a waiter whose context ends leaves the queue"}},
	{"a wait that ends says no more than that", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, errors.New("waited in vain")
			}
			return t, err
		}}
	}), []string{
		"a context that is done asks for nothing", "a waiter whose context ends leaves the queue"}},
	{"the second client's trylock leaves a waiter", nth(2, func(c *locktest.Client) {
		c.Backend = methods{staying(c.TryLock, c.Lock), c.Lock}
	}), []string{"a trylock that fails leaves nothing"}},
	{"a grant that comes soon, and with the cancellation, is lost", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := inner.Lock(ctx, scope)
			soon := time.Since(began) < ttl/20
			time.Sleep(ttl / 1000) // in which the cancellation comes
			if err == nil && ctx.Err() != nil && soon {
				return nil, ctx.Err()
			}
			return t, err
		}}
	}), []string{"a wait that ends as the lock is free ends one way"}},
	{"a wait that is cancelled goes on for a while", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			time.Sleep(ttl / 1000) // in which the cancellation comes
			if errors.Is(ctx.Err(), context.Canceled) {
				time.Sleep(3 * ttl)
			}
			return t, err
		}}
	}), []string{
		"a wait that ends as the lock is free ends one way", "a waiter outlasts a service restart"}},
	{"a goroutine stays", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			go time.Sleep(10 * time.Minute)
			return inner.Lock(ctx, scope)
		}}
	}), []string{"nothing goes on after the end"}},
}

// expiring lets a tenure end though its client lives.
func expiring(t *tenure) {
	time.AfterFunc(ttl+ttl/10, func() { t.Tenure.Unlock(context.Background()) })
}

// locking changes the tenures that Lock is granted.
func locking(change func(*tenure)) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) { c.Backend = methods{c.TryLock, changing(c.Lock, change)} })
}

// nth changes one of the clients that are opened.
func nth(n int, change func(*locktest.Client)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		opened := 0
		return opening(func(c *locktest.Client) {
			if opened++; opened == n {
				change(c)
			}
		})(s)
	}
}

// secondWaiterComesIn lets a client that has had a lock in past the holder while another one waits, if there
// are three.
func secondWaiterComesIn(s locktest.Subject) locktest.Subject {
	opened := 0
	had := make(map[int]bool)              // the clients that have had a lock
	waits := make(map[string]map[int]bool) // by scope, the clients
	var mu sync.Mutex
	return opening(func(c *locktest.Client) {
		opened++
		inner, me := *c, opened
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			mu.Lock()
			if waits[scope] == nil {
				waits[scope] = make(map[int]bool)
			}
			crowded := opened == 3 && had[me] && len(waits[scope]) > 0 && !waits[scope][me]
			waits[scope][me] = true
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				delete(waits[scope], me)
				had[me] = true
			}()
			if crowded {
				time.Sleep(ttl / 300) // comes in while a tenure of a race is under way
				return elsewhere(inner.Lock)(ctx, scope)
			}
			return inner.Lock(ctx, scope)
		}}
	})(s)
}

// together grants the locks of a client that ask at once what the first one is granted.
func together(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		type flight struct {
			landed chan struct{}
			t      lock.Tenure
			err    error
		}
		var mu sync.Mutex
		flights := make(map[string]*flight)
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			mu.Lock()
			f := flights[scope]
			if f != nil {
				mu.Unlock()
				<-f.landed
				return f.t, f.err
			}
			f = &flight{landed: make(chan struct{})}
			flights[scope] = f
			mu.Unlock()
			f.t, f.err = inner(ctx, scope)
			mu.Lock()
			defer mu.Unlock()
			delete(flights, scope)
			close(f.landed)
			return f.t, f.err
		}}
	})(s)
}

// limited has a client wait where it has so many locks.
func limited(most int) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		held := make(chan struct{}, most)
		limiting := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				select {
				case held <- struct{}{}:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				t, err := attempt(ctx, scope)
				if err != nil {
					<-held
					return nil, err
				}
				context.AfterFunc(closing(t.Done()), func() { <-held })
				return t, nil
			}
		}
		c.Backend = methods{limiting(c.TryLock), limiting(c.Lock)}
	})
}

// idle has tokens start again after four TTLs without a grant.
func idle(s locktest.Subject) locktest.Subject {
	last := time.Now()
	return counting(func(_ *service, n *fence.Token) {
		if time.Since(last) > 4*ttl {
			*n = 0
		}
		last = time.Now()
	})(s)
}

func restartingThird(s locktest.Subject) locktest.Subject {
	restarts := 0
	s.Restart = func(context.Context) error { restarts++; return nil }
	return counting(func(_ *service, n *fence.Token) {
		if restarts == 3 {
			*n = 0
		}
	})(s)
}

// deaf has those who wait over a restart wait until their context is done.
func deaf(s locktest.Subject) locktest.Subject {
	var restarts atomic.Int64
	s.Restart = func(context.Context) error { restarts.Add(1); return nil }
	return opening(func(c *locktest.Client) {
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			before := restarts.Load()
			t, err := inner(ctx, scope)
			if restarts.Load() == before || err != nil {
				return t, err
			}
			_ = t.Unlock(ctx)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	})(s)
}

// unlockingOf changes what the calls of Unlock, which are counted, do and return.
func unlockingOf(change func(ctx context.Context, s *service, t *tenure, call int, err error) error) func(locktest.Subject) locktest.Subject {
	return tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			var calls atomic.Int64
			t.unlock = func(ctx context.Context, err error) error { return change(ctx, s, t, int(calls.Add(1)), err) }
		}
	})
}

// forgetful grants tenures that forget an Unlock whose context is done.
func forgetful(attempt lockFunc) lockFunc { return puttingOff(attempt, func(lock.Tenure) {}) }

// puttingOff grants tenures of which an Unlock whose context is done returns nil, and has put off what it is to do.
func puttingOff(attempt lockFunc, off func(lock.Tenure)) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		t, err := attempt(ctx, scope)
		if err != nil {
			return nil, err
		}
		f := &forgetfulTenure{Tenure: t, off: off, done: make(chan struct{})}
		f.end = sync.OnceFunc(func() { close(f.done) })
		context.AfterFunc(closing(t.Done()), f.end)
		return f, nil
	}
}

type forgetfulTenure struct {
	lock.Tenure
	off  func(lock.Tenure)
	done chan struct{}
	end  func()
}

func (t *forgetfulTenure) Done() <-chan struct{} { return t.done }

func (t *forgetfulTenure) Unlock(ctx context.Context) error {
	defer t.end()
	if ctx.Err() != nil && !isClosed(t.Tenure.Done()) {
		t.off(t.Tenure)
		return nil
	}
	return t.Tenure.Unlock(ctx)
}

// waking has a client do something half a TTL after it woke up. lock takes a lock for ever.
func waking(do func(s *service, client string, lock func(scope string))) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		all := new(service)
		open := s.Open
		s.Open = func(ctx context.Context) (locktest.Client, error) {
			c, err := open(ctx)
			if err != nil {
				return c, err
			}
			name := ""
			inner := c
			noting := func(attempt lockFunc) lockFunc {
				return func(ctx context.Context, scope string) (lock.Tenure, error) {
					return changing(attempt, func(t *tenure) {
						all.mu.Lock()
						defer all.mu.Unlock()
						all.granted = append(all.granted, t)
						name = clientOf(t)
					})(ctx, scope)
				}
			}
			c.Backend = methods{noting(inner.TryLock), noting(inner.Lock)}
			c.Wake = func() {
				inner.Wake()
				time.AfterFunc(ttl/2, func() {
					all.mu.Lock()
					client := name
					all.mu.Unlock()
					do(all, client, func(scope string) { _, _ = inner.TryLock(context.Background(), scope) })
				})
			}
			return c, nil
		}
		return s
	}
}

// untold tells a holder of a loss only if nobody has come after it, or when it wakes up or
// ends.
func untold(s locktest.Subject) locktest.Subject {
	all := new(service)
	return opening(func(c *locktest.Client) {
		woken := make(chan struct{})
		wake := sync.OnceFunc(func() { close(woken) })
		inner := *c
		telling := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				return changing(attempt, func(t *tenure) {
					all.mu.Lock()
					all.granted = append(all.granted, t)
					all.mu.Unlock()
					t.done = make(chan struct{})
					end := sync.OnceFunc(func() { close(t.done) })
					t.unlock = func(_ context.Context, err error) error { end(); return err }
					context.AfterFunc(closing(t.Tenure.Done()), func() {
						time.Sleep(ttl / 100) // in which the successor comes
						if all.last() != t {
							<-woken
						}
						end()
					})
				})(ctx, scope)
			}
		}
		c.Backend = methods{telling(inner.TryLock), telling(inner.Lock)}
		c.Wake = func() { wake(); inner.Wake() }
		c.Close = func() { wake(); inner.Close() }
	})(s)
}

// crashFreesTwo leaves a waiter for each lock that a client that crashes has, but the last two.
func crashFreesTwo(s locktest.Subject) locktest.Subject {
	open := s.Open
	return opening(func(c *locktest.Client) {
		h := new(holders)
		inner := *c
		noting := func(attempt lockFunc) lockFunc {
			return changing(attempt, func(t *tenure) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.tenures = append(h.tenures, t)
			})
		}
		c.Backend = methods{noting(inner.TryLock), noting(inner.Lock)}
		leave := sync.OnceFunc(func() {
			for left := h.count(); left > 2; left-- {
				ghost, err := open(context.Background())
				if err != nil {
					continue
				}
				go ghost.Lock(context.Background(), h.current(left-3).Grant().Scope)
			}
			synctest.Wait() // until they are in their queues
		})
		c.Crash = func() { inner.Crash(); leave() }
	})(s)
}

// hearingUnlocks wakes those who wait at each unlock only, unless a client had crashed when
// they came.
func hearingUnlocks(s locktest.Subject) locktest.Subject {
	var (
		mu      sync.Mutex
		crashed bool
		freed   = make(chan struct{}) // closed, and made anew, at each unlock
	)
	heard := func(t *tenure) {
		t.unlock = func(_ context.Context, err error) error {
			mu.Lock()
			defer mu.Unlock()
			close(freed)
			freed = make(chan struct{})
			return err
		}
	}
	return opening(func(c *locktest.Client) {
		inner := *c
		c.Crash = func() {
			mu.Lock()
			crashed = true
			mu.Unlock()
			inner.Crash()
		}
		c.Backend = methods{changing(inner.TryLock, heard), func(ctx context.Context, scope string) (lock.Tenure, error) {
			for {
				mu.Lock()
				next, plain := freed, crashed
				mu.Unlock()
				if plain {
					return changing(inner.Lock, heard)(ctx, scope)
				}
				t, err := changing(inner.TryLock, heard)(ctx, scope)
				if !errors.Is(err, lock.ErrLocked) {
					return t, err
				}
				select {
				case <-next:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}}
	})(s)
}

// firstIsShort lets the first lock of a client end after five TTLs, if it has not waited.
func firstIsShort(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		inner := *c
		var asked atomic.Bool
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			first := asked.CompareAndSwap(false, true)
			t, err := inner.TryLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) {
				return inner.Lock(ctx, scope)
			}
			if err == nil && first {
				time.AfterFunc(5*ttl, func() { t.Unlock(context.Background()) })
			}
			return t, err
		}}
	})(s)
}
