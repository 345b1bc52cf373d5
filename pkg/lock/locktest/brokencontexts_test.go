package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenLate are subjects that are right for some time after the end of a tenure, or until one thing more happens.
var brokenLate = []brokenBackend{
	{"a loss fades", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			since := time.Now()
			context.AfterFunc(closing(t.Tenure.Done()), func() { since = time.Now() })
			t.err = func(err error) error {
				if isClosed(t.Tenure.Done()) && time.Since(since) > ttl {
					return nil
				}
				return err
			}
		}
	}), []string{"a loss stays known", "a trylock's tenure ends as a lock's does"}},
	{"a loss has no reason while the successor has the lock", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.err = func(err error) error {
				if last := s.last(); last != t && !last.unlocked.Load() {
					return nil
				}
				return err
			}
		}
	}), []string{"a loss stays known", "a trylock's tenure ends as a lock's does"}},
	{"a loss has two reasons", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			t.err = func(err error) error {
				if err != nil {
					return fmt.Errorf("%w, %w", lock.ErrLost, lock.ErrCutOff)
				}
				return nil
			}
		}
	}), []string{
		"the holder is told in time", "a loss stays known", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's"}},
	{"a second unlock has the grant be empty", unlockedTwice(func(t *tenure, again func() bool) {
		t.grant = func(g lock.Grant) lock.Grant {
			if again() {
				return lock.Grant{}
			}
			return g
		}
	}), []string{"a grant is a value"}},
	{"after a second unlock Err says that the tenure was lost", unlockedTwice(func(t *tenure, again func() bool) {
		t.err = func(err error) error {
			if err == nil && again() {
				return lock.ErrLost
			}
			return err
		}
	}), []string{"an unlock of what is over says so"}},
	{"a late unlock frees the client's own successor", unlockingOf(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); errors.Is(err, lock.ErrLost) && call == 1 && last != t && clientOf(last) == clientOf(t) {
			_ = last.Tenure.Unlock(ctx)
		}
		return err
	}), []string{
		"a late unlock frees nothing", "a living holder keeps the lock when it releases another",
		"a trylock's holder that wakes up is as a lock's"}},
	{"a grant is empty some time after the loss", tenures(func(*service) func(*tenure) {
		return func(t *tenure) {
			since := time.Now()
			context.AfterFunc(closing(t.Tenure.Done()), func() { since = time.Now() })
			t.grant = func(g lock.Grant) lock.Grant {
				if isClosed(t.Tenure.Done()) && time.Since(since) > ttl {
					return lock.Grant{}
				}
				return g
			}
		}
	}), []string{
		"a grant outlives its tenure", "a trylock's holder that wakes up is as a lock's"}},
}

// inQueue waits whatever the context says, for a lock that is held.
func inQueue(ctx context.Context, try, wait lockFunc, scope string) {
	whatever := context.WithoutCancel(ctx)
	if t, err := try(whatever, scope); err == nil {
		_ = t.Unlock(whatever)
		return
	}
	_, _ = wait(whatever, scope)
}

// brokenContexts are subjects that mind a context that is done in one situation only.
var brokenContexts = []brokenBackend{
	{"a context past its deadline is not looked at", opening(func(c *locktest.Client) {
		looking := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					ctx = context.WithoutCancel(ctx)
				}
				return attempt(ctx, scope)
			}
		}
		c.Backend = methods{looking(c.TryLock), c.Lock}
	}), []string{"a context that is done asks for nothing"}},
	{"a context that is done does not matter where the lock is held", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() == nil {
				return inner.TryLock(ctx, scope)
			}
			t, err := inner.TryLock(context.WithoutCancel(ctx), scope)
			if err == nil {
				_ = t.Unlock(context.WithoutCancel(ctx))
				return nil, ctx.Err()
			}
			return nil, err
		}, c.Lock}
	}), []string{"a context that is done asks for nothing"}},
	{"a wait under a context that is done stays, where another client holds the lock", opening(func(c *locktest.Client) {
		var own atomic.Int64
		counted := func(attempt lockFunc) lockFunc {
			return changing(attempt, func(t *tenure) {
				own.Add(1)
				t.unlock = func(_ context.Context, err error) error { own.Add(-1); return err }
			})
		}
		wait := c.Lock
		c.Backend = methods{counted(c.TryLock), func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() != nil && own.Load() == 0 {
				go inQueue(ctx, c.TryLock, wait, scope)
				time.Sleep(ttl / 1000) // until it is in the queue
			}
			return counted(wait)(ctx, scope)
		}}
	}), []string{"a context that is done asks for nothing"}},
	{"a wait under a context that is done has an unknown outcome", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() != nil {
				return nil, &lock.UnknownError{Op: "lock", Scope: scope, Err: ctx.Err()}
			}
			return inner.Lock(ctx, scope)
		}}
	}), []string{"a context that is done asks for nothing"}},
	{"a reader joins readers under a context that is done", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		rlock := inner.shared.lock
		inner.shared.lock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			if ctx.Err() != nil && r.reading(scope) > 0 {
				ctx = context.WithoutCancel(ctx)
			}
			return rlock(ctx, scope)
		}
		return inner
	})), []string{"a context that is done asks for no shared lock"}},
	{"a late unlock under a context that is done returns nil", contextUnlocking(func(ctx context.Context, err error) error {
		if ctx.Err() != nil && errors.Is(err, lock.ErrLost) {
			return nil
		}
		return err
	}), []string{"a late unlock frees nothing"}},
	{"an unlock under a context that is done returns the context's error", contextUnlocking(func(ctx context.Context, err error) error {
		if ctx.Err() != nil && err == nil {
			return ctx.Err()
		}
		return err
	}), []string{"an unlock under a context that is done frees the lock or says so"}},
	{"a trylock that is cut off says that the lock is held", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.TryLock(ctx, scope)
			if err != nil && ctx.Err() == nil {
				return nil, lock.ErrLocked
			}
			return t, err
		}, c.Lock}
	}), []string{"a call ends with its context"}},
	{"a reader by tryrlock becomes a writer", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		var tried noted
		tryRLock := inner.shared.tryLock
		inner.shared.tryLock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			tried.note(scope)
			return tryRLock(ctx, scope)
		}
		return upgrades(func(r *readers, scope, name string) bool {
			return slices.Contains(tried.all(), scope) && r.of(scope, name) == 1 && r.reading(scope) == 1
		})(r, name, inner)
	})), []string{"modes of one client exclude each other"}},
	{"one who reads twice becomes a writer", from(sharing, knowing(upgrades(func(r *readers, scope, name string) bool {
		return r.of(scope, name) == 2 && r.reading(scope) == 2
	}))), []string{"modes of one client exclude each other"}},
	{"one of two readers becomes a writer", from(sharing, knowing(upgrades(func(r *readers, scope, name string) bool {
		return r.of(scope, name) == 1 && r.reading(scope) == 2
	}))), []string{"modes of one client exclude each other"}},
	{"the end of the first reader is that of all", from(sharing, knowing(func(r *readers, name string, inner sharingMethods) sharingMethods {
		rlock := inner.shared.lock
		inner.shared.lock = func(ctx context.Context, scope string) (lock.Tenure, error) {
			first := r.reading(scope) == 0
			t, err := rlock(ctx, scope)
			if err == nil && first {
				context.AfterFunc(closing(t.Done()), func() {
					if t.Err() != nil {
						r.end()
					}
				})
			}
			return t, err
		}
		return inner
	})), []string{"a crashed reader leaves the others"}},
	{"an extension after the release is that of the successor", from(leased, extensionOfSuccessor), []string{"an extension after the release says so"}},
	{"an extension of a trylock after the release returns nil", part(leased, releasedExtends, same, tryOnly), []string{"an extension after the release says so"}},
	{"an extension without an answer moves Until", from(leased, leasing(func(t *leasedTenure) {
		inner, moved := t.extend, time.Time{}
		t.extend = func(ctx context.Context, d time.Duration) error {
			err := inner(ctx, d)
			if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
				moved = time.Now().Add(d)
			}
			return err
		}
		t.until = func(until time.Time) time.Time {
			if moved.IsZero() {
				return until
			}
			return moved
		}
	})), []string{"an extension without an answer says so"}},
	{"an extension is added to the lease", from(leased, leasing(func(t *leasedTenure) {
		inner := t.extend
		t.extend = func(ctx context.Context, d time.Duration) error {
			return inner(ctx, d+time.Until(t.tenure.Tenure.(lock.Expirer).Until()))
		}
	})), []string{"an extended lease goes on"}},
	{"a slash is a colon", scoped(strings.NewReplacer("/", ":").Replace), []string{"names that look alike are scopes apart"}},
	{"a slash is a dot", scoped(strings.NewReplacer("/", ".").Replace), []string{"names that look alike are scopes apart"}},
	{"an escape is not escaped", scoped(strings.NewReplacer("/", "_2F", " ", "_20").Replace), []string{"names that look alike are scopes apart"}},
	{"scopes end at a hash sign", scoped(func(scope string) string { scope, _, _ = strings.Cut(scope, "#"); return scope }), []string{"names that look alike are scopes apart"}},
	{"scopes end at a question mark", scoped(func(scope string) string { scope, _, _ = strings.Cut(scope, "?"); return scope }), []string{"names that look alike are scopes apart"}},
	{"a scope is its checksum", scoped(func(scope string) string { return fmt.Sprint(crc32.ChecksumIEEE([]byte(scope))) }), []string{"names that look alike are scopes apart"}},
	{"a lock's counter has the name of another scope", counterBeside, []string{"names that look alike are scopes apart"}},
	{"a grant is that of the tenure that its client has", tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant {
				if last := s.last(); t.unlocked.Load() && last != t && !last.unlocked.Load() && clientOf(last) == strings.Split(g.Owner, "/")[0] {
					return last.Grant()
				}
				return g
			}
		}
	}), []string{"a grant is a value", "a trylock's tenure ends as a lock's does"}},
	{"a goroutine stays for each one who has waited", opening(func(c *locktest.Client) {
		wait := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := wait(ctx, scope)
			if err == nil && time.Since(began) > 0 {
				go time.Sleep(10 * time.Minute)
			}
			return t, err
		}}
	}), []string{"nothing goes on after the end"}},
	{"an unlock under a context that is done closes Done, and Err says that the client is cut off", locking(func(t *tenure) {
		var cutOff atomic.Bool
		t.unlock = func(ctx context.Context, err error) error { cutOff.Store(ctx.Err() != nil); return err }
		t.err = func(err error) error {
			if err == nil && cutOff.Load() {
				return lock.ErrCutOff
			}
			return err
		}
	}), []string{"an unlock under a context that is done frees the lock or says so"}},
	{"an unlock under a context that is done wakes nobody", wakingNobody, []string{
		"an unlock under a context that is done frees the lock or says so"}},
	{"a loss is forgotten at an unlock under a context that is done", locking(func(t *tenure) {
		var forgotten atomic.Bool
		t.unlock = func(ctx context.Context, err error) error { forgotten.Store(ctx.Err() != nil); return err }
		t.err = func(err error) error {
			if forgotten.Load() {
				return nil
			}
			return err
		}
	}), []string{"a late unlock frees nothing"}},
	{"an unlock after one without an answer returns nil", unansweredBefore(func(_ context.Context, _ *service, _ error) error { return nil }), []string{
		"an unlock without an answer says so"}},
	{"an unlock after one without an answer frees the successor", unansweredBefore(func(ctx context.Context, s *service, err error) error {
		_ = s.last().Tenure.Unlock(ctx)
		return err
	}), []string{"an unlock without an answer says so"}},
	{"a trylock whose context ends during the call stays", opening(func(c *locktest.Client) {
		try := c.TryLock
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := try(ctx, scope)
			time.Sleep(ttl / 1000) // in which the end of the context comes
			if err == nil && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return t, err
		}, c.Lock}
	}), []string{"a trylock that fails leaves nothing"}},
	{"there is no room for long words", opening(func(c *locktest.Client) {
		wait := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			if len(lock.Words(ctx)) > 100 {
				return nil, fence.Definite.New("the words are too long")
			}
			return wait(ctx, scope)
		}}
	}), []string{"long names are scopes apart"}},
	{"a restart changes the owner of a tenure", func(s locktest.Subject) locktest.Subject {
		var restarts atomic.Int64
		s.Restart = func(context.Context) error { restarts.Add(1); return nil }
		return locking(func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant {
				g.Owner += strings.Repeat("'", int(restarts.Load()))
				return g
			}
		})(s)
	}, []string{"a service restart keeps the holder"}},
	{"a reader who has waited longer than the TTL is not renewed", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{s.TryRLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := s.RLock(ctx, scope)
			if err == nil && time.Since(began) > ttl {
				expiring(&tenure{Tenure: t})
			}
			return t, err
		}}
	}), []string{"a living reader that has waited keeps the lock"}},
	ofLocks("scopes are trimmed", "names that look alike are scopes apart"),
	ofLocks("scopes are cut off", "long names are scopes apart"),
}

// wakingNobody has those who wait go on waiting where the lock is unlocked under a context that is done.
func wakingNobody(s locktest.Subject) locktest.Subject {
	var unheard sync.Map // by scope
	return opening(func(c *locktest.Client) {
		wait := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			began := time.Now()
			t, err := changing(wait, func(t *tenure) {
				t.unlock = func(ctx context.Context, err error) error {
					if ctx.Err() != nil {
						unheard.Store(scope, time.Now())
					}
					return err
				}
			})(ctx, scope)
			time.Sleep(ttl / 1000) // in which the holder's Unlock ends
			if at, deaf := unheard.Load(scope); err == nil && deaf && at.(time.Time).After(began) {
				_ = t.Unlock(ctx)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return t, err
		}}
	})(s)
}

// unansweredBefore changes an Unlock of what is over that comes after one without an answer.
func unansweredBefore(change func(ctx context.Context, s *service, err error) error) func(locktest.Subject) locktest.Subject {
	return tenures(func(s *service) func(*tenure) {
		return func(t *tenure) {
			var unanswered atomic.Bool
			t.unlock = func(ctx context.Context, err error) error {
				if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
					unanswered.Store(true)
				} else if unanswered.Load() {
					return change(ctx, s, err)
				}
				return err
			}
		}
	})
}

// counterBeside refuses the scope that another one's counter has the name of.
func counterBeside(s locktest.Subject) locktest.Subject {
	var counters noted
	return opening(func(c *locktest.Client) {
		try := c.TryLock
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			counters.note(scope + ":token")
			if slices.Contains(counters.all(), scope) {
				return nil, lock.ErrLocked
			}
			return try(ctx, scope)
		}, c.Lock}
	})(s)
}

// contextUnlocking changes what Unlock of a lock returns, by its context.
func contextUnlocking(change func(ctx context.Context, err error) error) func(locktest.Subject) locktest.Subject {
	return locking(func(t *tenure) { t.unlock = change })
}

// unlockedTwice changes tenures that Lock is granted by whether Unlock has been called again.
func unlockedTwice(change func(t *tenure, again func() bool)) func(locktest.Subject) locktest.Subject {
	return locking(func(t *tenure) {
		calls := 0
		t.unlock = func(_ context.Context, err error) error { calls++; return err }
		change(t, func() bool { return calls > 1 })
	})
}

// upgrades lets TryLock in past the readers.
func upgrades(may func(r *readers, scope, name string) bool) func(*readers, string, sharingMethods) sharingMethods {
	return func(r *readers, name string, inner sharingMethods) sharingMethods {
		tryLock := inner.TryLock
		inner.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			if may(r, scope, name) {
				return elsewhere(tryLock)(ctx, scope)
			}
			return tryLock(ctx, scope)
		}, inner.Lock}
		return inner
	}
}

// extensionOfSuccessor makes the lease of the successor longer where what is extended was unlocked.
func extensionOfSuccessor(s locktest.Subject) locktest.Subject {
	var mu sync.Mutex
	var last *leasedTenure
	return leasing(func(t *leasedTenure) {
		mu.Lock()
		defer mu.Unlock()
		last = t
		inner := t.extend
		t.extend = func(ctx context.Context, d time.Duration) error {
			err := inner(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			if t.unlocked.Load() && last != t {
				_ = last.tenure.Tenure.(lock.Extender).Extend(ctx, d)
			}
			return err
		}
	})(s)
}
