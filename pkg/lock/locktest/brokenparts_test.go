package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenParts are subjects of which one part is broken as all of another subject is: what Lock grants, what TryLock grants, or readers.
var brokenParts = []brokenBackend{
	ofLocks("the tenth client comes in past the holder", "many contenders come in one at a time"),
	ofLocks("a version is cut off the scope", "scopes do not exclude each other"),
	ofLocks("a client gets its own lock again",
		"a client excludes itself", "a client's waiters exclude each other", "a living holder keeps the lock"),
	ofLocks("a grant is empty after the loss", "a grant outlives its tenure"),
	ofLocks("owners are clients", "owners are unique"),
	ofLocks("a client that comes again has the same token",
		"tokens grow after a release", "grants are new after service restarts"),
	ofLocks("a second unlock frees another client's lock", "a second unlock frees nothing"),
	ofLocks("a late unlock frees the lock that is current", "a late unlock frees nothing"),
	ofLocks("a late unlock returns nil where the successor has gone", "a late unlock says so when the successor has gone"),
	ofLocks("a renewal takes a lock that is free", "what is over stays over"),
	ofLocks("a second unlock is that of the client's only lock", "an unlock is the tenure's"),
	ofLocks("a third unlock returns nil",
		"an unlock of what is over says so"),
	ofLocks("two unlocks at once both return nil", "of two unlocks at once one frees"),
	ofLocks("a release passes for a loss", "the holder is told on unlock"),
	ofLocks("the news of a loss is late", "the holder is told in time"),
	ofReaders("scopes are trimmed", "a reader's scopes are apart as a writer's"),
	ofReaders("a version is cut off the scope", "a reader's scopes are apart as a writer's"),
	ofReaders("scopes are cut off late", "a reader's scopes are apart as a writer's"),
	ofReaders("a release passes for a loss", "a reader's unlock is as a writer's"),
	ofReaders("a third unlock returns nil", "a reader's unlock is as a writer's"),
	ofReaders("a second unlock frees another client's lock", "a reader's unlock is as a writer's"),
	ofReaders("a second late unlock frees another client's lock", "a late unlock of a reader frees nothing"),
	ofReaders("a second unlock is the client's",
		"a reader's unlock is its own", "a reader's unlock is as a writer's"),
	ofReaders("the token is read again at use", "a reader's unlock is as a writer's"),
	ofReaders("locks of a client that ask at once are granted together", "readers and writers race"),
	ofReaders("the tenth client comes in past the holder", "readers and writers race"),
	ofReaders("the news of a loss is late", "a reader that wakes up is as a writer"),
	ofReaders("a renewal takes a lock that is free", "a reader that wakes up is as a writer"),
	ofReaders("a crash frees the last two locks only", "a reader that wakes up is as a writer"),
	ofReaders("a client's first tenure is renewed three times",
		"a living holder keeps the lock when it releases another", "a living reader keeps the lock", "a reader outlasts the unlocks of others"),
	ofReaders("a goroutine stays", "nothing of readers goes on after the end"),
	ofReaders("who has waited is not renewed",
		"a living reader that has waited keeps the lock"),
	ofReaders("a waiter takes the lock of a holder that it has seen for the TTL", "nobody outlasts a living holder of the other mode"),
	ofReaders("who waits over a restart waits for ever", "a service restart is for readers as for writers"),
	ofReaders("a grant that comes as the context ends is not renewed", "a living reader that has waited keeps the lock"),
	ofReaders("a late unlock frees the client's own successor", "a late unlock of a reader frees nothing"),
	ofTryRLocks("a third unlock returns nil", "a reader's unlock is as a writer's"),
	ofTryRLocks("two unlocks at once both return nil", "a reader's unlock is as a writer's"),
	ofTryRLocks("a release passes for a loss", "a reader's unlock is as a writer's"),
	ofTryRLocks("a second unlock is the client's", "a reader's unlock is as a writer's"),
	ofTryRLocks("the news of a loss is late", "a reader that wakes up is as a writer"),
	ofTryRLocks("a renewal takes a lock that is free", "a reader that wakes up is as a writer"),
	ofTryRLocks("a grant is empty after the loss", "a reader that wakes up is as a writer"),
	ofTryRLocks("a loss has no reason", "a reader's loss is as a writer's", "a reader that wakes up is as a writer"),
	ofTryRLocks("an unlock without an answer returns nil", "a reader's loss is as a writer's"),
	ofTrylocks("a late unlock frees the client's own successor", "a trylock's holder that wakes up is as a lock's"),
	ofTrylocks("a client gets its own lock again", "a client's trylocks exclude each other"),
	ofTrylocks("a client has 16 locks at the most", "a trylock's scopes are apart as a lock's"),
	ofTrylocks("a second unlock is the client's",
		"a trylock's tenure ends as a lock's does"),
	ofTrylocks("owners are clients", "a trylock grants as a lock does"),
	ofTrylocks("a third unlock returns nil",
		"a trylock's tenure ends as a lock's does"),
	ofTrylocks("two unlocks at once both return nil", "a trylock's tenure ends as a lock's does"),
	ofTrylocks("a release passes for a loss", "a trylock's tenure ends as a lock's does"),
	ofTrylocks("the news of a loss is late", "a trylock's holder that wakes up is as a lock's"),
	ofTrylocks("a renewal takes a lock that is free", "a trylock's holder that wakes up is as a lock's"),
	ofTrylocks("a grant is empty after the loss", "a trylock's holder that wakes up is as a lock's"),
	{"the unlock of a locked lease that is over frees the successor", part(leased, lapsedFrees, same, lockOnly), []string{"a lease ends"}},
	{"Until of what the first client locks says too much before an extension", part(leased, firstOnly(prematureUntil), same, lockOnly), []string{"a lease lasts until its time"}},
	{"a lock has three readers at the most", from(sharing, knowing(func(r *readers, _ string, inner sharingMethods) sharingMethods {
		full := func(scope string) bool { return r.reading(scope) >= 3 }
		tryRLock, rlock := inner.shared.tryLock, inner.shared.lock
		inner.shared = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			if full(scope) {
				return nil, lock.ErrLocked
			}
			return tryRLock(ctx, scope)
		}, func(ctx context.Context, scope string) (lock.Tenure, error) {
			for full(scope) && ctx.Err() == nil {
				time.Sleep(ttl / 1000)
			}
			return rlock(ctx, scope)
		}}
		return inner
	})), []string{"shared tenures overlap"}},
	{"a second unlock of a reader has an unknown outcome", readerUnlocking(func(_ *service, _ *tenure, call int, err error) error {
		if errors.Is(err, lock.ErrLost) && call == 2 {
			return &lock.UnknownError{Op: "unlock", Err: err}
		}
		return err
	}), []string{"a reader's unlock is its own"}},
	{"a late unlock of a reader returns nil where the writer after it has gone", readerUnlocking(func(s *service, t *tenure, call int, err error) error {
		if errors.Is(err, lock.ErrLost) && call == 1 && s.granted[len(s.granted)-1] == t {
			return nil
		}
		return err
	}), []string{"a reader that wakes up is as a writer"}},
	{"a restart forgets readers", from(sharing, func(s locktest.Subject) locktest.Subject {
		all := new(service)
		s.Restart = func(ctx context.Context) error {
			for _, t := range all.granted {
				_ = t.Tenure.Unlock(ctx)
			}
			return nil
		}
		return opening(func(c *locktest.Client) {
			r := c.Backend.(lock.Sharer)
			c.Backend = sharingMethods{c.Backend, methods{changing(r.TryRLock, all.note), changing(r.RLock, all.note)}}
		})(s)
	}), []string{
		"a holder over a service restart keeps the lock or is told",
		"a service restart is for readers as for writers"}},
	{"a second unlock of a trylock frees another client's lock", tryUnlocking(func(ctx context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); t.released() && call == 2 && clientOf(last) != clientOf(t) {
			_ = last.Tenure.Unlock(ctx)
		}
		return err
	}), []string{"a trylock's tenure ends as a lock's does"}},
	{"a late unlock of a trylock frees the lock that is current", tryUnlocking(func(ctx context.Context, s *service, _ *tenure, call int, err error) error {
		if errors.Is(err, lock.ErrLost) && call == 1 {
			_ = s.last().Tenure.Unlock(ctx)
		}
		return err
	}), []string{"a trylock's holder that wakes up is as a lock's"}},
	{"a late unlock of a trylock returns nil where the successor has gone", tryUnlocking(func(_ context.Context, s *service, t *tenure, call int, err error) error {
		if last := s.last(); errors.Is(err, lock.ErrLost) && call == 1 && last != t && last.unlocked.Load() {
			return nil
		}
		return err
	}), []string{"a trylock's holder that wakes up is as a lock's"}},
	{"a trylock's token is read again at use", tracking(func(s *service, t *tenure) {
		t.grant = func(g lock.Grant) lock.Grant { g.Token = s.last().Tenure.Grant().Token; return g }
	}), []string{
		"a trylock's tenure ends as a lock's does", "a trylock's holder that wakes up is as a lock's"}},
}

// firstOnly changes the client alone that is opened first.
func firstOnly(change func(locktest.Subject) locktest.Subject) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		first, others := change(s).Open, s.Open
		s.Open = func(ctx context.Context) (locktest.Client, error) {
			open := first
			first = others
			return open(ctx)
		}
		return s
	}
}

// tracking changes the tenures that TryLock is granted. It knows all tenures.
func tracking(change func(s *service, t *tenure)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		all := new(service)
		return opening(func(c *locktest.Client) {
			c.Backend = methods{
				changing(c.TryLock, func(t *tenure) { all.note(t); change(all, t) }),
				changing(c.Lock, all.note),
			}
		})(s)
	}
}

// tryUnlocking changes what the calls of Unlock of trylocks, which are counted, do and return.
func tryUnlocking(change func(ctx context.Context, s *service, t *tenure, call int, err error) error) func(locktest.Subject) locktest.Subject {
	return tracking(func(s *service, t *tenure) {
		var calls atomic.Int64
		t.unlock = func(ctx context.Context, err error) error { return change(ctx, s, t, int(calls.Add(1)), err) }
	})
}

// ofLocks has what Lock grants broken as all of the subject with this name is.
func ofLocks(name string, caughtBy ...string) brokenBackend {
	return brokenBackend{"of locks: " + name, part(correct, named(name), same, lockOnly), caughtBy}
}

// lockOnly is c with the Lock of another one.
func lockOnly(c, broken lock.Backend) lock.Backend {
	s := c.(lock.Sharer)
	return sharingMethods{methods{c.TryLock, broken.Lock}, methods{s.TryRLock, s.RLock}}
}

// ofReaders has readers broken as all of the subject with this name is.
func ofReaders(name string, caughtBy ...string) brokenBackend {
	return brokenBackend{"of readers: " + name, part(sharing, named(name), func(c lock.Backend) lock.Backend {
		s := c.(lock.Sharer)
		return methods{s.TryRLock, s.RLock}
	}, func(c, broken lock.Backend) lock.Backend {
		return sharingMethods{c, methods{broken.TryLock, broken.Lock}}
	}), caughtBy}
}

// ofTrylocks has what TryLock grants broken as all of the subject with this name is.
func ofTrylocks(name string, caughtBy ...string) brokenBackend {
	return brokenBackend{"of trylocks: " + name, part(sharing, named(name), same, tryOnly), caughtBy}
}

// ofTryRLocks has what TryRLock grants broken as all of the subject with this name is.
func ofTryRLocks(name string, caughtBy ...string) brokenBackend {
	return brokenBackend{"of tryrlocks: " + name, part(sharing, named(name), func(c lock.Backend) lock.Backend {
		s := c.(lock.Sharer)
		return methods{s.TryRLock, s.RLock}
	}, func(c, broken lock.Backend) lock.Backend {
		return sharingMethods{c, methods{broken.TryLock, c.(lock.Sharer).RLock}}
	}), caughtBy}
}

// tryOnly is c with the TryLock of another one.
func tryOnly(c, broken lock.Backend) lock.Backend {
	s := c.(lock.Sharer)
	return sharingMethods{methods{broken.TryLock, c.Lock}, methods{s.TryRLock, s.RLock}}
}

// named is how the subject with this name breaks a correct one.
func named(name string) func(locktest.Subject) locktest.Subject {
	for _, b := range slices.Concat(brokenTenures, brokenAlone, brokenLate, brokenRenewals) {
		if b.name == name {
			return b.subject
		}
	}
	panic("there is no broken subject " + name)
}

// same breaks the whole.
func same(c lock.Backend) lock.Backend { return c }

// part breaks a part of each client of a correct subject, and puts it back.
func part(correct func() locktest.Subject, change func(locktest.Subject) locktest.Subject, of func(lock.Backend) lock.Backend, back func(c, broken lock.Backend) lock.Backend) func(locktest.Subject) locktest.Subject {
	return from(correct, func(s locktest.Subject) locktest.Subject {
		var whole lock.Backend // of the client that was opened last
		s = opening(func(c *locktest.Client) {
			whole = c.Backend
			c.Backend = of(c.Backend)
		})(s)
		return opening(func(c *locktest.Client) { c.Backend = back(whole, c.Backend) })(change(s))
	})
}
