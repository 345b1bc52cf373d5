package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenReaders are subjects with shared locks that break in one situation only.
var brokenReaders = []brokenBackend{
	{"a writer comes in beside the first readers", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		tryLock := inner.TryLock
		inner.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			if r.reading(scope) > 1 && r.ended.Load() == 0 {
				return elsewhere(tryLock)(ctx, scope)
			}
			return tryLock(ctx, scope)
		}, inner.Lock}
		return inner
	})), []string{"readers keep a writer out"}},
	{"a tryrlock comes in past another client's writer", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		tryRLock := inner.shared.tryLock
		inner.shared.tryLock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := tryRLock(ctx, scope)
			if errors.Is(err, lock.ErrLocked) && r.writer(scope) != name {
				return elsewhere(tryRLock)(ctx, scope)
			}
			return t, err
		}
		return inner
	})), []string{
		"a writer keeps readers out", "a tryrlock does not wait", "nothing of readers goes on after the end"}},
	{"a reader comes in where three wait", from(sharing, crowdedIn), []string{
		"readers and writers race", "tokens grow over both modes"}},
	{"the only reader becomes a writer", from(sharing, knowing(upgrades(func(r *readers, scope, name string) bool {
		return r.reading(scope) == 1 && r.of(scope, name) == 1
	}))), []string{"modes of one client exclude each other"}},
	{"a writer becomes a reader", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		rlock := inner.shared.lock
		inner.shared.lock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			if r.writer(scope) == name {
				return elsewhere(rlock)(ctx, scope)
			}
			return rlock(ctx, scope)
		}
		return inner
	})), []string{"readers and writers race", "modes of one client exclude each other"}},
	{"a reader's context that is done is not looked at", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{s.TryRLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() != nil {
				ctx = context.WithoutCancel(ctx)
			}
			return s.RLock(ctx, scope)
		}}
	}), []string{"a context that is done asks for no shared lock"}},
	{"a writer that has waited in vain keeps readers out", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		wait, tryRLock := inner.Lock, inner.shared.tryLock
		inner.Backend = methods{inner.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := wait(ctx, scope)
			if err != nil && r.reading(scope) > 0 && r.of(scope, name) == 0 {
				r.closed.Store(scope, true)
			}
			return t, err
		}}
		inner.shared.tryLock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			if _, closed := r.closed.Load(scope); closed {
				return nil, lock.ErrLocked
			}
			return tryRLock(ctx, scope)
		}
		return inner
	})), []string{"a writer whose wait ends lets readers in"}},
	{"a second unlock of a reader is another reader's", readerUnlocking(func(s *service, t *tenure, call int, err error) error {
		if last := s.granted[len(s.granted)-1]; call == 2 && t.released() && last != t {
			_ = last.Tenure.Unlock(context.Background())
		}
		return err
	}), []string{
		"a reader's unlock is its own", "a reader's unlock is as a writer's"}},
	{"a second unlock of a reader returns nil", readerUnlocking(func(_ *service, t *tenure, call int, err error) error {
		if call == 2 && t.released() {
			return nil
		}
		return err
	}), []string{
		"a reader's unlock is its own", "a reader's unlock is as a writer's"}},
	{"a late unlock of a reader is another reader's", readerUnlocking(func(s *service, t *tenure, call int, err error) error {
		for _, other := range s.granted {
			if errors.Is(err, lock.ErrLost) && call == 1 && other != t && !other.unlocked.Load() {
				_ = other.Tenure.Unlock(context.Background())
			}
		}
		return err
	}), []string{"a late unlock of a reader frees nothing"}},
	{"a reader's grant is empty after the loss", readerChanging(func(t *tenure) {
		t.grant = func(g lock.Grant) lock.Grant {
			if !t.unlocked.Load() && isClosed(t.Tenure.Done()) {
				return lock.Grant{}
			}
			return g
		}
	}, both), []string{"a reader that wakes up is as a writer"}},
	{"a reader is not told of its loss", readerChanging(func(t *tenure) {
		t.done = make(chan struct{})
		end := sync.OnceFunc(func() { close(t.done) })
		t.unlock = func(_ context.Context, err error) error { end(); return err }
	}, both), []string{
		"a reader's loss is as a writer's", "a reader that wakes up is as a writer"}},
	{"a crash frees one of a client's readers", from(sharing, ghosts(func(r *readers, scope, name string) int { return r.of(scope, name) - 1 })), []string{"a crash frees a shared lock"}},
	{"a living reader keeps one that crashed", from(sharing, ghosts(func(r *readers, scope, name string) int { return r.reading(scope) - r.of(scope, name) })), []string{"a crash serves those who wait in either mode", "a crashed reader leaves the others"}},
	{"a crash frees all readers", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods { return inner }, func(r *readers) { r.end() })), []string{
		"a holder that was cut off for a moment keeps the lock or is told", "a reader's loss is as a writer's",
		"a reader that wakes up is as a writer", "a crash serves those who wait in either mode",
		"a crashed reader leaves the others"}},
	{"an only reader by tryrlock is not renewed for long", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		tryRLock := inner.shared.tryLock
		inner.shared.tryLock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := tryRLock(ctx, scope)
			if err == nil {
				r.endOnly(t)
			}
			return t, err
		}
		return inner
	})), []string{"a tryrlock's reader keeps the lock"}},
	{"an only reader that has not waited is not renewed", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		rlock := inner.shared.lock
		inner.shared.lock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := rlock(ctx, scope)
			if err == nil && time.Since(began) == 0 {
				r.endOnly(t)
			}
			return t, err
		}
		return inner
	})), []string{"a living reader keeps the lock"}},
	{"the unlock of a reader ends the renewal of the client's others", readerUnlocking(func(s *service, t *tenure, _ int, err error) error {
		for _, other := range s.granted {
			if err == nil && other != t && clientOf(other) == clientOf(t) && !other.unlocked.Load() {
				expiring(other)
			}
		}
		return err
	}), []string{"a reader outlasts the unlocks of others"}},
	{"the unlock of the first reader ends the renewal of the others", readerUnlocking(func(s *service, t *tenure, _ int, err error) error {
		for _, other := range s.granted {
			if err == nil && s.first(t) && !other.unlocked.Load() {
				expiring(other)
			}
		}
		return err
	}), []string{"a reader outlasts the unlocks of others"}},
	{"a reader's grant becomes that of the client's next reader", from(sharing, knowing(func(_ *readers, _ string, inner sharingMethods) sharingMethods {
		latest := new(service)
		follows := func(t *tenure) {
			latest.note(t)
			t.grant = func(g lock.Grant) lock.Grant {
				if t.unlocked.Load() {
					return latest.last().Tenure.Grant()
				}
				return g
			}
		}
		inner.shared = methods{changing(inner.shared.tryLock, follows), changing(inner.shared.lock, follows)}
		return inner
	})), []string{"a reader's unlock is as a writer's"}},
	{"a client that reads already reads again under a context that is done", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		tryRLock := inner.shared.tryLock
		inner.shared.tryLock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			if r.of(scope, name) > 0 {
				ctx = context.WithoutCancel(ctx)
			}
			return tryRLock(ctx, scope)
		}
		return inner
	})), []string{"a context that is done asks for no shared lock"}},
	{"a client counts its readers by itself", from(sharing, opening(func(c *locktest.Client) {
		again := lock.Reenter(lock.Shared(c.Backend.(lock.Sharer)))
		var n atomic.Int64
		counts := func(t *tenure) {
			owner := fmt.Sprint("'", n.Add(1))
			t.grant = func(g lock.Grant) lock.Grant { g.Owner += owner; return g }
		}
		c.Backend = sharingMethods{c.Backend, methods{changing(again.TryLock, counts), changing(again.Lock, counts)}}
	})), []string{"readers do not overtake a waiting writer"}},
	{"a reader who waits as a writer becomes one at the second look", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		wait := inner.Lock
		inner.Backend = methods{inner.TryLock, patiently(wait, ttl/4, func(scope string) bool { return r.of(scope, name) == 1 && r.reading(scope) == 1 })}
		return inner
	})), []string{"modes of one client exclude each other"}},
	{"the end of a reader that crashed lets a writer in", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		wait := inner.Lock
		inner.Backend = methods{inner.TryLock, patiently(wait, ttl+ttl/2, func(scope string) bool { return r.reading(scope) > 0 && r.ended.Load() > 0 })}
		return inner
	})), []string{"a crashed reader leaves the others", "nobody outlasts a living holder of the other mode"}},
	{"a writer's wait that ends is the end of the renewal of readers", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		wait := inner.Lock
		inner.Backend = methods{inner.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := wait(ctx, scope)
			if err != nil && r.of(scope, name) == 0 {
				time.AfterFunc(ttl, r.end)
			}
			return t, err
		}}
		return inner
	})), []string{"a living reader keeps the lock"}},
	{"a writer does not hear of the end of a reader where another one has unlocked", from(sharing, unheardAfterUnlock), []string{
		"a crash serves those who wait in either mode"}},
}

// first reports whether t is the first that the service remembers of its scope.
func (s *service) first(t *tenure) bool {
	scope := t.Tenure.Grant().Scope
	i := slices.IndexFunc(s.granted, func(o *tenure) bool { return o.Tenure.Grant().Scope == scope })
	return s.granted[i] == t
}

// patiently lets one in past the holder who has waited for so long, if it may at first and then.
func patiently(wait lockFunc, d time.Duration, may func(scope string) bool) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		if !may(scope) {
			return wait(ctx, scope)
		}
		soon, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		t, err := wait(soon, scope)
		switch {
		case err == nil || ctx.Err() != nil:
			return t, err
		case may(scope):
			return elsewhere(wait)(ctx, scope)
		}
		return wait(ctx, scope)
	}
}

// unheardAfterUnlock has a writer wait until its context is done where a reader unlocks while one that has crashed is current.
func unheardAfterUnlock(s locktest.Subject) locktest.Subject {
	var (
		crashed atomic.Bool
		unheard sync.Map // by scope
	)
	return knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		wait := inner.Lock
		unlocks := func(attempt lockFunc) lockFunc {
			return changing(attempt, func(t *tenure) {
				t.unlock = func(_ context.Context, err error) error {
					if scope := t.Grant().Scope; crashed.Load() && r.reading(scope) > 0 {
						unheard.Store(scope, true)
					}
					return err
				}
			})
		}
		inner.shared = methods{unlocks(inner.shared.tryLock), unlocks(inner.shared.lock)}
		inner.Backend = methods{inner.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := wait(ctx, scope)
			if _, deaf := unheard.Load(scope); err == nil && deaf {
				_ = t.Unlock(ctx)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return t, err
		}}
		return inner
	}, func(*readers) { crashed.Store(true) })(s)
}

// readers are the tenures of a service that are current, by what their clients know.
type readers struct {
	mu      sync.Mutex
	tenures map[*tenure]string // of readers and writers, with the names of their clients
	taken   map[string]int     // tenures, by trial
	ended   atomic.Int64       // unlocks and crashes
	closed  sync.Map           // by scope
}

func (r *readers) count(fits func(t *tenure, client string) bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, client := range r.tenures {
		if fits(t, client) {
			n++
		}
	}
	return n
}

func isReader(t *tenure, scope string) bool {
	g := t.Tenure.Grant()
	return g.Scope == scope && g.Mode == fence.Shared
}

// reading is how many readers a scope has, and of how many of them are a client's.
func (r *readers) reading(scope string) int {
	return r.count(func(t *tenure, _ string) bool { return isReader(t, scope) })
}

func (r *readers) of(scope, name string) int {
	return r.count(func(t *tenure, client string) bool { return isReader(t, scope) && client == name })
}

// writer is the client that has the lock of a scope alone.
func (r *readers) writer(scope string) (name string) {
	r.count(func(t *tenure, client string) bool {
		if g := t.Tenure.Grant(); g.Scope == scope && g.Mode == fence.Exclusive {
			name = client
		}
		return false
	})
	return name
}

// endOnly lets a tenure end after some TTLs, if its trial has had no other one.
func (r *readers) endOnly(t lock.Tenure) {
	time.AfterFunc(4*ttl+ttl/2, func() {
		r.mu.Lock()
		only := r.taken[trialOf(t.Grant().Scope)] == 1
		r.mu.Unlock()
		if only {
			_ = t.Unlock(context.Background())
		}
	})
}

// end unlocks all readers.
func (r *readers) end() {
	r.count(func(t *tenure, _ string) bool {
		if t.Tenure.Grant().Mode == fence.Shared {
			_ = t.Tenure.Unlock(context.Background())
		}
		return false
	})
}

// knowing changes each client by what is known of the service's tenures. crashed is called
// after each crash.
func knowing(change func(r *readers, name string, inner sharingMethods) sharingMethods, crashed ...func(*readers)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		r := &readers{tenures: make(map[*tenure]string), taken: make(map[string]int)}
		opened := 0
		return opening(func(c *locktest.Client) {
			opened++
			name := string(rune('a' + opened))
			known := func(attempt lockFunc) lockFunc {
				return changing(attempt, func(t *tenure) {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.tenures[t] = name
					r.taken[trialOf(t.Tenure.Grant().Scope)]++
					t.unlock = func(_ context.Context, err error) error {
						r.mu.Lock()
						defer r.mu.Unlock()
						r.ended.Add(1)
						delete(r.tenures, t)
						return err
					}
				})
			}
			sharer, crash := c.Backend.(lock.Sharer), c.Crash
			c.Backend = change(r, name, sharingMethods{
				methods{known(c.Backend.TryLock), known(c.Backend.Lock)},
				methods{known(sharer.TryRLock), known(sharer.RLock)},
			})
			c.Crash = func() {
				r.ended.Add(1)
				crash()
				for _, do := range crashed {
					do(r)
				}
			}
		})(s)
	}
}

// ghosts has some readers that nobody unlocks beside a client that crashes.
func ghosts(many func(r *readers, scope, name string) int) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		open := s.Open
		var scopes sync.Map
		var r *readers
		s = knowing(func(all *readers, name string, inner sharingMethods) sharingMethods {
			r = all
			noting := func(attempt lockFunc) lockFunc {
				return func(ctx context.Context, scope string) (lock.Tenure, error) {
					scopes.Store(name, scope)
					return attempt(ctx, scope)
				}
			}
			inner.shared = methods{noting(inner.shared.tryLock), noting(inner.shared.lock)}
			return inner
		})(s)
		opened := 0
		return opening(func(c *locktest.Client) {
			opened++
			name, crash := string(rune('a'+opened)), c.Crash
			c.Crash = func() {
				crash()
				scope, read := scopes.Load(name)
				if !read || many(r, scope.(string), name) < 1 {
					return
				}
				if ghost, err := open(context.Background()); err == nil {
					_, _ = ghost.Backend.(lock.Sharer).RLock(context.Background(), scope.(string))
				}
			}
		})(s)
	}
}

// crowdedIn lets a reader in past the holder where three others wait.
func crowdedIn(s locktest.Subject) locktest.Subject {
	var waiting atomic.Int64
	return opening(func(c *locktest.Client) {
		counting := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				waiting.Add(1)
				defer waiting.Add(-1)
				return attempt(ctx, scope)
			}
		}
		inner, sharer := c.Backend, c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{
			methods{inner.TryLock, counting(inner.Lock)},
			methods{sharer.TryRLock, counting(func(ctx context.Context, scope string) (lock.Tenure, error) {
				if waiting.Load() > 3 {
					return elsewhere(sharer.RLock)(ctx, scope)
				}
				return sharer.RLock(ctx, scope)
			})},
		}
	})(s)
}

// both and tries are which ways of a reader are changed.
const (
	both  = false
	tries = true
)

// readerChanging changes the tenures of readers.
func readerChanging(change func(*tenure), only bool) func(locktest.Subject) locktest.Subject {
	return reading(func(_ lock.Backend, s lock.Sharer) methods {
		m := methods{changing(s.TryRLock, change), s.RLock}
		if only == both {
			m.lock = changing(s.RLock, change)
		}
		return m
	})
}

// readerUnlocking changes what the calls of Unlock of readers, which are counted, do and
// return.
func readerUnlocking(change func(s *service, t *tenure, call int, err error) error) func(locktest.Subject) locktest.Subject {
	return from(sharing, func(s locktest.Subject) locktest.Subject {
		all := new(service)
		return opening(func(c *locktest.Client) {
			counted := func(attempt lockFunc) lockFunc {
				return changing(attempt, func(t *tenure) {
					all.mu.Lock()
					defer all.mu.Unlock()
					all.granted = append(all.granted, t)
					calls := 0
					t.unlock = func(_ context.Context, err error) error {
						all.mu.Lock()
						defer all.mu.Unlock()
						calls++
						return change(all, t, calls, err)
					}
				})
			}
			sharer := c.Backend.(lock.Sharer)
			c.Backend = sharingMethods{c.Backend, methods{counted(sharer.TryRLock), counted(sharer.RLock)}}
		})(s)
	})
}
