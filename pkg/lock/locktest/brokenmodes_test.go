package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// from breaks another correct subject than the plain one.
func from(correct func() locktest.Subject, change func(locktest.Subject) locktest.Subject) func(locktest.Subject) locktest.Subject {
	return func(locktest.Subject) locktest.Subject { return change(correct()) }
}

var brokenSharing = []brokenBackend{
	{"all that re-enter as readers are one owner", from(reenteringReaders, opening(func(c *locktest.Client) {
		sharer := c.Backend.(lock.Sharer)
		one := func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Owner = "readers"; return g } }
		c.Backend = sharingMethods{c.Backend, methods{changing(sharer.TryRLock, one), changing(sharer.RLock, one)}}
	})), []string{
		"shared tenures overlap", "readers and writers race", "a reader's unlock is as a writer's",
		"grants are new after service restarts"}},
	{"it has no shared locks", from(sharing, opening(func(c *locktest.Client) {
		c.Backend = methods{c.TryLock, c.Lock}
	})), []string{
		"readers do not overtake a waiting writer", "readers and writers are served in their order",
		"shared tenures overlap", "readers keep a writer out", "a writer keeps readers out",
		"readers and writers race", "modes of one client exclude each other", "a tryrlock does not wait",
		"a reader's scopes are apart as a writer's", "a context that is done asks for no shared lock",
		"a writer whose wait ends lets readers in", "tokens grow over both modes",
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a reader's unlock is as a writer's", "a reader's wait ends as a writer's does",
		"a reader's loss is as a writer's", "a reader that wakes up is as a writer",
		"a crash serves those who wait in either mode", "a crash frees a shared lock",
		"a crashed reader leaves the others", "nothing of readers goes on after the end",
		"a living reader keeps the lock", "a tryrlock's reader keeps the lock",
		"a living reader that has waited keeps the lock", "nobody outlasts a living holder of the other mode",
		"a reader outlasts the unlocks of others", "a reader's lease is as a writer's",
		"a service restart is for readers as for writers"}},
	{"readers exclude each other", reading(func(b lock.Backend, _ lock.Sharer) methods {
		shared := func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Mode = fence.Shared; return g } }
		return methods{changing(b.TryLock, shared), changing(b.Lock, shared)}
	}), []string{
		"shared tenures overlap", "readers keep a writer out", "modes of one client exclude each other",
		"a writer whose wait ends lets readers in", "a reader's unlock is its own",
		"a late unlock of a reader frees nothing", "a crash serves those who wait in either mode",
		"a crash frees a shared lock", "a crashed reader leaves the others",
		"a reader outlasts the unlocks of others"}},
	{"readers keep nobody out", reading(func(_ lock.Backend, s lock.Sharer) methods {
		return methods{elsewhere(s.TryRLock), elsewhere(s.RLock)}
	}), []string{
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"readers do not overtake a waiting writer", "readers and writers are served in their order",
		"readers keep a writer out", "a writer keeps readers out", "readers and writers race",
		"modes of one client exclude each other", "a tryrlock does not wait",
		"a reader's scopes are apart as a writer's", "a writer whose wait ends lets readers in",
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a reader's unlock is as a writer's", "a reader's wait ends as a writer's does",
		"a reader that wakes up is as a writer", "a crashed reader leaves the others",
		"nothing of readers goes on after the end", "a living reader keeps the lock",
		"a tryrlock's reader keeps the lock", "a living reader that has waited keeps the lock",
		"nobody outlasts a living holder of the other mode", "a reader outlasts the unlocks of others",
		"a holder over a service restart keeps the lock or is told",
		"a service restart is for readers as for writers"}},
	{"writers are readers", from(sharing, opening(func(c *locktest.Client) {
		s := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{methods{s.TryRLock, s.RLock}, methods{s.TryRLock, s.RLock}}
	})), []string{
		"one tenure at a time", "many contenders come in one at a time", "names that look alike are scopes apart",
		"long names are scopes apart", "a client excludes itself", "a client's trylocks exclude each other",
		"a client's waiters exclude each other", "a grant is a value", "a second unlock frees nothing",
		"a late unlock frees nothing", "a late unlock says so when the successor has gone",
		"a holder that wakes up steals nothing", "an unlock is the tenure's", "an unlock without an answer says so",
		"a living holder keeps the lock", "a living holder that has waited keeps the lock",
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told",
		"a waiter does not outlast a living holder", "a waiter whose context ends leaves the queue",
		"a wait that ends as the lock is free ends one way", "nothing goes on after the end",
		"a trylock grants as a lock does", "a trylock's holder keeps the lock",
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's",
		"a trylock does not wait", "a trylock that fails leaves nothing", "a refusal says what is known",
		"a wait without an answer says what it leaves", "waiters are served in their order",
		"the order outlives one who leaves", "the order outlives a holder that crashes",
		"readers do not overtake a waiting writer", "readers and writers are served in their order",
		"readers keep a writer out", "a writer keeps readers out", "readers and writers race",
		"modes of one client exclude each other", "a tryrlock does not wait",
		"a reader's scopes are apart as a writer's", "a writer whose wait ends lets readers in",
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a reader's unlock is as a writer's", "a reader's wait ends as a writer's does",
		"a reader that wakes up is as a writer", "a crashed reader leaves the others",
		"nothing of readers goes on after the end", "a living reader keeps the lock",
		"a tryrlock's reader keeps the lock", "a living reader that has waited keeps the lock",
		"nobody outlasts a living holder of the other mode", "a reader outlasts the unlocks of others",
		"an extended tenure outlasts its holder", "an extension of a renewed tenure says what became of it",
		"a service restart keeps the holder", "a holder over a service restart keeps the lock or is told",
		"a service restart is for readers as for writers", "a waiter outlasts a service restart"}},
	{"a reader's grant is exclusive", reading(func(_ lock.Backend, s lock.Sharer) methods {
		exclusive := func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Mode = fence.Exclusive; return g } }
		return methods{changing(s.TryRLock, exclusive), changing(s.RLock, exclusive)}
	}), []string{
		"shared tenures overlap", "readers keep a writer out", "modes of one client exclude each other",
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a crash serves those who wait in either mode", "a crash frees a shared lock",
		"a crashed reader leaves the others", "a reader outlasts the unlocks of others"}},
	{"readers have tokens of their own", reading(func(_ lock.Backend, s lock.Sharer) methods {
		lower := func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Token = (g.Token + 1) / 2; return g } }
		return methods{changing(s.TryRLock, lower), changing(s.RLock, lower)}
	}), []string{
		"tokens grow over both modes", "grants are new after service restarts",
		"a service restart is for readers as for writers"}},
	{"readers share an owner", reading(func(_ lock.Backend, s lock.Sharer) methods {
		nameless := func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Owner = "readers"; return g } }
		return methods{changing(s.TryRLock, nameless), changing(s.RLock, nameless)}
	}), []string{
		"shared tenures overlap", "readers and writers race", "a reader's unlock is as a writer's",
		"grants are new after service restarts"}},
	{"the unlock of one reader is that of all", from(sharing, unlocksAll), []string{
		"shared tenures overlap", "readers keep a writer out", "modes of one client exclude each other",
		"a reader's scopes are apart as a writer's", "a writer whose wait ends lets readers in",
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a reader's unlock is as a writer's", "a crashed reader leaves the others",
		"a reader outlasts the unlocks of others"}},
	{"a reader's second unlock returns nil", reading(func(_ lock.Backend, s lock.Sharer) methods {
		silent := func(t *tenure) { t.unlock = func(context.Context, error) error { return nil } }
		return methods{changing(s.TryRLock, silent), changing(s.RLock, silent)}
	}), []string{
		"a reader's unlock is its own", "a late unlock of a reader frees nothing",
		"a reader's unlock is as a writer's", "a reader's loss is as a writer's",
		"a reader that wakes up is as a writer"}},
	{"a crashed reader stays", from(sharing, readerStays), []string{
		"a late unlock of a reader frees nothing", "a reader's loss is as a writer's",
		"a reader that wakes up is as a writer", "a crash serves those who wait in either mode",
		"a crash frees a shared lock", "a crashed reader leaves the others",
		"nobody outlasts a living holder of the other mode", "an extended tenure outlasts its holder",
		"an extension of a renewed tenure says what became of it"}},
	{"a reader is not renewed", reading(func(_ lock.Backend, s lock.Sharer) methods {
		short := func(t *tenure) {
			time.AfterFunc(ttl+ttl/10, func() { t.Tenure.Unlock(context.Background()) })
		}
		return methods{changing(s.TryRLock, short), changing(s.RLock, short)}
	}), []string{
		"a living holder keeps the lock when it releases another",
		"a holder that was cut off for a moment keeps the lock or is told", "a crashed reader leaves the others",
		"a living reader keeps the lock", "a tryrlock's reader keeps the lock",
		"a living reader that has waited keeps the lock", "nobody outlasts a living holder of the other mode",
		"a reader outlasts the unlocks of others", "a holder over a service restart keeps the lock or is told"}},
}

// sharingMethods is a Backend that is a Sharer.
type sharingMethods struct {
	lock.Backend
	shared methods
}

func (s sharingMethods) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return s.shared.tryLock(ctx, scope)
}

func (s sharingMethods) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return s.shared.lock(ctx, scope)
}

// reading changes how each client shares locks.
func reading(change func(lock.Backend, lock.Sharer) methods) func(locktest.Subject) locktest.Subject {
	return from(sharing, opening(func(c *locktest.Client) {
		c.Backend = sharingMethods{c.Backend, change(c.Backend, c.Backend.(lock.Sharer))}
	}))
}

// elsewhere takes another lock than it is asked for, and does not say so.
func elsewhere(attempt lockFunc) lockFunc {
	return func(ctx context.Context, scope string) (lock.Tenure, error) {
		return changing(attempt, func(t *tenure) {
			t.grant = func(g lock.Grant) lock.Grant { g.Scope = scope; return g }
		})(ctx, "not "+scope)
	}
}

// unlocksAll unlocks all readers where one of them is.
func unlocksAll(s locktest.Subject) locktest.Subject {
	var mu sync.Mutex
	var readers []lock.Tenure
	return opening(func(c *locktest.Client) {
		all := func(t *tenure) {
			mu.Lock()
			defer mu.Unlock()
			readers = append(readers, t.Tenure)
			t.unlock = func(ctx context.Context, err error) error {
				mu.Lock()
				defer mu.Unlock()
				for _, reader := range readers {
					_ = reader.Unlock(ctx)
				}
				return err
			}
		}
		sharer := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{c.Backend, methods{changing(sharer.TryRLock, all), changing(sharer.RLock, all)}}
	})(s)
}

// noted are scopes, in the order in which goroutines noted them.
type noted struct {
	mu     sync.Mutex
	scopes []string
}

func (n *noted) note(scope string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.scopes = append(n.scopes, scope)
}

func (n *noted) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.scopes)
}

// readerStays has a reader that nobody can unlock beside each one that crashes.
func readerStays(s locktest.Subject) locktest.Subject {
	open := s.Open
	return opening(func(c *locktest.Client) {
		var asked noted
		inner, sharer := c.Backend, c.Backend.(lock.Sharer)
		noting := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				asked.note(scope)
				return attempt(ctx, scope)
			}
		}
		c.Backend = sharingMethods{inner, methods{noting(sharer.TryRLock), noting(sharer.RLock)}}
		crash := c.Crash
		c.Crash = func() {
			crash()
			for _, scope := range asked.all() {
				if ghost, err := open(context.Background()); err == nil {
					go ghost.Backend.(lock.Sharer).RLock(context.Background(), scope)
				}
			}
			synctest.Wait() // until they are in their queues
		}
	})(s)
}

var brokenLeases = []brokenBackend{
	{"a lease never ends", from(func() locktest.Subject { return fixed(correct()) }, leasing(func(t *leasedTenure) {
		until := time.Now().Add(ttl)
		t.until = func(time.Time) time.Time { return until }
		t.extend = func(context.Context, time.Duration) error { return nil }
	})), []string{
		"a lease ends", "a trylock's lease is as a lock's", "an extended lease goes on",
		"an extension after the release says so", "an extension of what is over says so",
		"an extension under a context that is done is made or says so", "an extension without an answer says so"}},
	{"Until says too much", from(leased, leasing(func(t *leasedTenure) {
		t.until = func(until time.Time) time.Time { return until.Add(ttl) }
	})), []string{
		"a lease lasts until its time", "a trylock's lease is as a lock's", "a reader's lease is as a writer's",
		"an extended lease goes on", "an extension after the release says so",
		"an extension of what is over says so"}},
	{"the holder is not told that the lease is over", from(leased, leasing(func(t *leasedTenure) {
		t.tenure.done = make(chan struct{})
		end := sync.OnceFunc(func() { close(t.tenure.done) })
		t.tenure.unlock = func(_ context.Context, err error) error { end(); return err }
		context.AfterFunc(closing(t.tenure.Tenure.Done()), func() { time.AfterFunc(ttl+ttl/2, end) })
	})), []string{
		"the holder is told in time", "a trylock's holder that wakes up is as a lock's",
		"a reader that wakes up is as a writer", "a lease ends", "a trylock's lease is as a lock's",
		"a reader's lease is as a writer's", "an extended lease goes on",
		"an extension after the release says so", "an extension of what is over says so"}},
	{"an extension is forgotten", from(leased, leasing(func(t *leasedTenure) {
		t.extend = func(context.Context, time.Duration) error { return nil }
	})), []string{
		"an extended lease goes on", "an extension after the release says so",
		"an extension of what is over says so", "an extension under a context that is done is made or says so",
		"an extension without an answer says so"}},
	{"an extension is shorter than Until says", from(leased, leasing(func(t *leasedTenure) {
		inner, until := t.extend, time.Time{}
		t.extend = func(ctx context.Context, d time.Duration) error {
			began := time.Now()
			err := inner(ctx, d/2)
			if err == nil {
				until = began.Add(d)
			}
			return err
		}
		t.until = func(is time.Time) time.Time {
			if until.IsZero() {
				return is
			}
			return until
		}
	})), []string{"an extended lease goes on"}},
	{"an extension of what is over returns nil", from(leased, leasing(func(t *leasedTenure) {
		inner := t.extend
		t.extend = func(ctx context.Context, d time.Duration) error {
			err := inner(ctx, d)
			if errors.Is(err, lock.ErrLost) && !t.unlocked.Load() {
				return nil
			}
			return err
		}
	})), []string{"an extension of what is over says so"}},
	{"an extension without an answer returns nil", from(leased, leasing(func(t *leasedTenure) {
		inner := t.extend
		t.extend = func(ctx context.Context, d time.Duration) error {
			if err := inner(ctx, d); errors.Is(err, lock.ErrLost) || ctx.Err() != nil {
				return err
			}
			return nil
		}
	})), []string{"an extension without an answer says so"}},
	{"an extension after the release returns nil", from(leased, releasedExtends), []string{"an extension after the release says so"}},
	{"Until says too much before an extension", from(leased, prematureUntil), []string{
		"a lease lasts until its time", "a trylock's lease is as a lock's", "a reader's lease is as a writer's",
		"an extension after the release says so", "an extension of what is over says so"}},
	{"the unlock of a lease that is over frees the successor", from(leased, lapsedFrees), []string{
		"a lease ends", "a trylock's lease is as a lock's", "a reader's lease is as a writer's"}},
	{"an extension that fails moves Until", from(leased, leasing(func(t *leasedTenure) {
		inner, failed := t.extend, time.Duration(0)
		t.extend = func(ctx context.Context, d time.Duration) error {
			err := inner(ctx, d)
			if err != nil {
				failed = d
			}
			return err
		}
		t.until = func(until time.Time) time.Time { return until.Add(failed) }
	})), []string{
		"an extension after the release says so", "an extension under a context that is done is made or says so",
		"an extension without an answer says so"}},
	{"the end of a lease has no reason", from(leased, leasing(func(t *leasedTenure) {
		t.tenure.err = func(error) error { return nil }
	})), []string{
		"the holder is told in time", "a loss stays known", "a trylock's tenure ends as a lock's does",
		"a trylock's holder that wakes up is as a lock's", "a reader's loss is as a writer's",
		"a reader that wakes up is as a writer", "a lease ends", "a trylock's lease is as a lock's",
		"a reader's lease is as a writer's", "an extended lease goes on",
		"an extension after the release says so", "an extension of what is over says so"}},
	{"its tenures have no Until", func(s locktest.Subject) locktest.Subject { return fixed(s) }, []string{
		"a lease ends", "a lease lasts until its time", "a trylock's lease is as a lock's",
		"an extended lease goes on", "an extension after the release says so",
		"an extension of what is over says so", "an extension under a context that is done is made or says so",
		"an extension without an answer says so"}},
}

var releasedExtends = leasing(func(t *leasedTenure) {
	inner := t.extend
	t.extend = func(ctx context.Context, d time.Duration) error {
		if t.unlocked.Load() {
			return nil
		}
		return inner(ctx, d)
	}
})

var prematureUntil = leasing(func(t *leasedTenure) {
	inner, extended := t.extend, false
	t.extend = func(ctx context.Context, d time.Duration) error {
		err := inner(ctx, d)
		extended = extended || err == nil
		return err
	}
	t.until = func(until time.Time) time.Time {
		if extended {
			return until
		}
		return until.Add(ttl)
	}
})

// lapsedFrees frees the lock that is current at the first unlock of a lease that is over, if
// no client has crashed.
func lapsedFrees(s locktest.Subject) locktest.Subject {
	all := new(service)
	var crashed atomic.Bool
	s = leasing(func(t *leasedTenure) {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.granted = append(all.granted, t.tenure)
		var calls atomic.Int64
		t.tenure.unlock = func(ctx context.Context, err error) error {
			if first := calls.Add(1) == 1; first && errors.Is(err, lock.ErrLost) && !crashed.Load() {
				_ = all.last().Tenure.Unlock(ctx)
			}
			return err
		}
	})(s)
	return opening(func(c *locktest.Client) {
		crash := c.Crash
		c.Crash = func() { crashed.Store(true); crash() }
	})(s)
}

func fixed(s locktest.Subject) locktest.Subject {
	s.FixedLease = true
	return s
}

// leasedTenure is a tenure with a fixed lease that can be changed in each part.
type leasedTenure struct {
	*tenure
	until  func(time.Time) time.Time
	extend func(context.Context, time.Duration) error
}

func (t *leasedTenure) Until() time.Time {
	var until time.Time
	if inner, ok := t.tenure.Tenure.(lock.Expirer); ok {
		until = inner.Until()
	}
	if t.until == nil {
		return until
	}
	return t.until(until)
}

func (t *leasedTenure) Extend(ctx context.Context, d time.Duration) error { return t.extend(ctx, d) }

// leasing changes the leases that each client is granted.
func leasing(change func(*leasedTenure)) func(locktest.Subject) locktest.Subject {
	changing := func(attempt lockFunc) lockFunc {
		return func(ctx context.Context, scope string) (lock.Tenure, error) {
			inner, err := attempt(ctx, scope)
			if err != nil {
				return nil, err
			}
			t := &leasedTenure{tenure: &tenure{Tenure: inner}}
			if inner, ok := inner.(lock.Extender); ok {
				t.extend = inner.Extend
			}
			change(t)
			return t, nil
		}
	}
	return opening(func(c *locktest.Client) {
		s := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{
			methods{changing(c.Backend.TryLock), changing(c.Backend.Lock)},
			methods{changing(s.TryRLock), changing(s.RLock)},
		}
	})
}

var brokenOrder = []brokenBackend{
	{"the last to come is served first", from(sharing, serving(queue{
		next: lastFirst,
	})), []string{
		"waiters are served in their order", "the order outlives one who leaves",
		"the order outlives a holder that crashes", "readers do not overtake a waiting writer",
		"readers and writers are served in their order", "nobody outlasts a living holder of the other mode",
		"a service restart is for readers as for writers", "a waiter outlasts a service restart"}},
	{"re-entry begins another tenure", from(reentering, renaming), []string{
		"re-entry keeps the grant", "re-entry at once is one tenure"}},
	{"the first unlock frees", func(s locktest.Subject) locktest.Subject {
		s.Reentrant = true
		return again(s)
	}, []string{
		"the last unlock frees a re-entered lock", "a second unlock of a re-entered lock counts once",
		"re-entry at once is one tenure", "a lock that is taken anew is a new grant",
		"a re-entered lock lives until its last unlock"}},
}

// renaming gives each grant an owner of its own.
func renaming(s locktest.Subject) locktest.Subject {
	return tenures(func(*service) func(*tenure) {
		entered := ""
		return func(t *tenure) {
			entered += "'"
			owner := entered
			t.grant = func(g lock.Grant) lock.Grant { g.Owner += owner; return g }
		}
	})(s)
}
