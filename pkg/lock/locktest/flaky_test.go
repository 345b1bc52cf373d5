package locktest_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

var errFlaky = errors.New("the connection was broken")

// unnoticed are the calls of a law that may fail with any error. A call is in vain if it would
// have failed anyway. The first call of a trial is told apart, and a call below, in a scope with a slash.
var unnoticed = map[string][]string{
	"names that look alike are scopes apart":                           {"first TryLock", "TryLock", "TryLock in vain", "Lock", "Lock below", "TryLock below", "TryLock below in vain"}, // a name may be refused
	"long names are scopes apart":                                      {"first TryLock", "TryLock", "TryLock in vain", "Lock"},
	"a client excludes itself":                                         {"Lock in vain"},
	"a grant outlives its tenure":                                      {"Unlock", "Unlock in vain"},
	"an unlock under a context that is done frees the lock or says so": {"Unlock"},
	"a loss stays known":                                               {"Unlock in vain", "Unlock"},
	"a call ends with its context":                                     {"Lock in vain", "TryLock in vain", "Unlock in vain"},
	"a living holder keeps the lock":                                   {"Lock in vain"},
	"a waiter does not outlast a living holder":                        {"Lock in vain", "Unlock"},
	"a living reader keeps the lock":                                   {"Lock in vain"},
	"a crashed waiter leaves the queue":                                {"Lock"},            // of the one that crashed
	"a trylock that fails leaves nothing":                              {"TryLock in vain"}, // its context has ended
	"nothing goes on after the end":                                    {"Lock in vain", "TryLock in vain", "Lock below in vain", "Unlock below", "Unlock below in vain"},
	"a wait that ends as the lock is free ends one way":                {"Lock in vain"}, // where the cancellation wins
	"the order outlives one who leaves":                                {"Lock in vain"},
	"a lost lock is not re-entered":                                    {"Lock in vain", "Unlock in vain"},
	"a writer keeps readers out":                                       {"RLock in vain"},
	"modes of one client exclude each other":                           {"Lock in vain", "RLock in vain"},
	"a reader's wait ends as a writer's does":                          {"RLock in vain"},         // where the cancellation wins
	"a crash serves those who wait in either mode":                     {"RLock", "Lock in vain"}, // of the one that crashed
	"a writer whose wait ends lets readers in":                         {"Lock in vain"},
	"a lease lasts until its time":                                     {"TryLock in vain"},
	"an extended lease goes on":                                        {"TryLock in vain"},
	"a wait without an answer says what it leaves":                     {"Lock in vain"},
	"a reader's scopes are apart as a writer's":                        {"first TryRLock", "TryRLock", "RLock", "TryLock in vain", "RLock below", "TryLock below in vain", "TryRLock below"}, // a name may be refused
	"nothing of readers goes on after the end":                         {"RLock in vain", "TryRLock in vain", "Lock below in vain", "RLock below in vain", "Unlock below", "Unlock below in vain"},
	"a trylock's lease is as a lock's":                                 {"TryLock in vain"},
	"a reader's lease is as a writer's":                                {"TryLock in vain"},
	"an extension under a context that is done is made or says so":     {"Extend in vain"},
	"a service restart is for readers as for writers":                  {"RLock", "Unlock", "Lock", "Lock in vain"},
	"a service restart keeps the holder":                               {"Unlock"},                         // the lease may be over
	"a holder over a service restart keeps the lock or is told":        {"Lock", "Unlock", "Unlock below"}, // the lease may be over
	"a waiter outlasts a service restart":                              {"Lock", "Unlock", "Lock in vain"},
	"an extended tenure outlasts its holder":                           {"Extend in vain"},
	"an extension of what is over says so":                             {"TryLock in vain"},
	"an extension after the release says so":                           {"TryLock in vain"},
	"a grant is a value":                                               {"Unlock in vain"},
	"a living holder that has waited keeps the lock":                   {"Lock"},
	"a living holder keeps the lock when it releases another":          {"Unlock in vain", "Lock in vain", "Unlock below in vain"},
	"a holder that was cut off for a moment keeps the lock or is told": {"Lock"},                       // it is told
	"scopes do not exclude each other":                                 {"Lock in vain"},               // the wait ends with the law
	"grants are new after service restarts":                            {"Lock below", "Unlock below"}, // the lease may be over
	"a reader's loss is as a writer's":                                 {"Unlock in vain", "RLock in vain", "TryRLock in vain", "Unlock"},
	"a late unlock frees nothing":                                      {"Unlock in vain"}, // under a context that is done
	"an unlock without an answer says so":                              {"Unlock in vain"},
	"a crash serves those who wait already":                            {"Lock", "Lock in vain"},
	"a trylock's tenure ends as a lock's does":                         {"Unlock", "Unlock in vain"},
	"a trylock's holder that wakes up is as a lock's":                  {"Unlock", "Unlock in vain"},
	"a reader's unlock is as a writer's":                               {"Unlock in vain"},
	"a reader that wakes up is as a writer":                            {"Unlock", "Unlock in vain"},
	"a crashed reader leaves the others":                               {"Lock in vain"},
	"a living reader that has waited keeps the lock":                   {"RLock"},
	"nobody outlasts a living holder of the other mode":                {"Lock in vain", "RLock in vain"},
}

// TestEachErrorIsNoticed: whichever call of a law says that it failed, the law says so, or tries once more.
func TestEachErrorIsNoticed(t *testing.T) {
	for _, l := range locktest.Laws {
		subject := kind(t, l)
		with := func(which, nth int) (*flaky, error) {
			f := &flaky{which: which, nth: nth}
			return f, check(t, l, func() locktest.Subject { return f.subject(subject()) })
		}
		right, _ := with(0, 0)
		if len(right.trials) == 0 {
			t.Errorf("%q makes no call", l.Name)
		}
		for which := range right.trials {
			for n := 1; ; n++ {
				f, err := with(which, n)
				if f.failed == "" {
					break
				}
				said := err != nil && strings.Contains(err.Error(), errFlaky.Error()) || len(f.trials) > len(right.trials)
				call := f.failed
				if n == 1 {
					call = "first " + call
				}
				if !said && !slices.Contains(unnoticed[l.Name], call) {
					t.Errorf("%q: call %d of trial %d, %s, failed, and the law says %v", l.Name, n, which+1, call, err)
				}
			}
		}
	}
}

// kind is a correct subject that the law is about.
func kind(t *testing.T, l locktest.Law) func() locktest.Subject {
	for _, subject := range []func() locktest.Subject{inspecting, leased} {
		if check(t, l, subject) == nil {
			return subject
		}
	}
	return reentering
}

// TestServiceThatIsGone: a law says so where a client cannot be opened, or the service cannot
// be restarted.
func TestServiceThatIsGone(t *testing.T) {
	for _, l := range locktest.Laws {
		subject := kind(t, l)
		for n := 1; ; n++ {
			opened := 0
			err := check(t, l, func() locktest.Subject {
				s := subject()
				open := s.Open
				s.Open = func(ctx context.Context) (locktest.Client, error) {
					if opened++; opened >= n {
						return locktest.Client{}, errFlaky
					}
					return open(ctx)
				}
				return s
			})
			if opened < n {
				break
			}
			if !errors.Is(err, errFlaky) {
				t.Errorf("%q: client %d could not be opened, and the law says %v", l.Name, n, err)
			}
		}
		err := check(t, l, func() locktest.Subject {
			s := subject()
			s.Restart = func(context.Context) error { return errFlaky }
			return s
		})
		if errors.Is(err, errFlaky) != l.Restarts {
			t.Errorf("%q restarts the service: %t; the service could not be restarted, and the law says %v", l.Name, l.Restarts, err)
		}
	}
}

// flaky is a service of which one call says that it failed, and does all the same what it does.
type flaky struct {
	which, nth int // the trial, and its call
	mu         sync.Mutex
	trials     []string // as they come
	calls      int      // of that trial
	failed     string   // the method, and whether it would have succeeded
}

// trial is the part of a scope that all scopes of a trial share, in upper case.
var trial = regexp.MustCompile(`LOCKTEST-[A-Z2-7]{26}`)

func trialOf(scope string) string { return trial.FindString(strings.ToUpper(scope)) }

// call returns what a call returned, or that it failed.
func (f *flaky) call(method, scope string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := trialOf(scope)
	if !slices.Contains(f.trials, of) {
		f.trials = append(f.trials, of)
	}
	if len(f.trials) <= f.which || f.trials[f.which] != of {
		return err
	}
	if f.calls++; f.calls != f.nth {
		return err
	}
	f.failed = method
	if strings.Contains(scope, "/") {
		f.failed += " below"
	}
	if err != nil {
		f.failed += " in vain"
	}
	return errFlaky
}

func (f *flaky) subject(s locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) { c.Backend = flakyBackend{c.Backend, f} })(s)
}

type flakyBackend struct {
	lock.Backend
	flaky *flaky
}

func (b flakyBackend) take(ctx context.Context, method, scope string, from lockFunc) (lock.Tenure, error) {
	t, err := from(ctx, scope)
	if err := b.flaky.call(method, scope, err); err != nil {
		return nil, err
	}
	return flakyTenure{t, b.flaky}, nil
}

func (b flakyBackend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.take(ctx, "TryLock", scope, b.Backend.TryLock)
}

func (b flakyBackend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.take(ctx, "Lock", scope, b.Backend.Lock)
}

func (b flakyBackend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.take(ctx, "TryRLock", scope, b.Backend.(lock.Sharer).TryRLock)
}

func (b flakyBackend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.take(ctx, "RLock", scope, b.Backend.(lock.Sharer).RLock)
}

func (b flakyBackend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	state, err := b.Backend.(lock.Inspector).Inspect(ctx, scope)
	return state, b.flaky.call("Inspect", scope, err)
}

type flakyTenure struct {
	lock.Tenure
	flaky *flaky
}

func (t flakyTenure) Unlock(ctx context.Context) error {
	return t.flaky.call("Unlock", t.Grant().Scope, t.Tenure.Unlock(ctx))
}

func (t flakyTenure) Until() time.Time { return t.Tenure.(lock.Expirer).Until() }

func (t flakyTenure) Extend(ctx context.Context, d time.Duration) error {
	return t.flaky.call("Extend", t.Grant().Scope, t.Tenure.(lock.Extensible).Extend(ctx, d))
}
