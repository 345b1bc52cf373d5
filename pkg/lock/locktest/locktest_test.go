package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/chance"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

const ttl = time.Second

// caught returns the names of the laws that subject breaks. Each law gets a
// subject of its own, and its own fake time.
func caught(t *testing.T, subject func() locktest.Subject) []string {
	var names []string
	for _, l := range locktest.Laws {
		if breaks(t, l, subject) {
			names = append(names, l.Name)
		}
	}
	return names
}

// breaks is whether subject breaks the law.
func breaks(t *testing.T, l locktest.Law, subject func() locktest.Subject) bool {
	err := check(t, l, subject)
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	t.Logf("%s: %v", l.Name, err)
	if strings.Contains(err.Error(), "%!") {
		t.Errorf("%q does not say what happened: %v", l.Name, err)
	}
	return true
}

// check checks a law in fake time, in which the subject begins.
func check(t *testing.T, l locktest.Law, subject func() locktest.Subject) (err error) {
	synctest.Test(t, func(t *testing.T) {
		err = l.Check(t.Context(), subject())
		time.Sleep(time.Hour) // calls that outlive the check come to their end
	})
	return err
}

// The subjects are correct.

// correct offers what every lock backend does, and no more.
func correct() locktest.Subject {
	return exclusive(sharing())
}

func sharing() locktest.Subject {
	s := inspecting()
	s.Inspects = false
	return s
}

func inspecting() locktest.Subject { return locktest.NewMemory(ttl).Subject() }

func leased() locktest.Subject {
	s := locktest.NewFixedLease(ttl).Subject()
	s.Inspects = false
	return s
}

// lapsing has leases that cannot be made longer.
func lapsing() locktest.Subject {
	return attempting(func(attempt lockFunc) lockFunc {
		return func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := attempt(ctx, scope)
			if err != nil {
				return nil, err
			}
			return lapsingTenure{t, t.(lock.Expirer)}, nil
		}
	})(leased())
}

type lapsingTenure struct {
	lock.Tenure
	lock.Expirer
}

// queueless has exclusive locks only, tells who holds one, and does not know who waits.
func queueless() locktest.Subject {
	s := telling(func(s *lock.State) { s.Queue, s.Waiters = false, nil })(locktest.Subject{})
	s.Shared = false
	return opening(func(c *locktest.Client) {
		c.Backend = inspectingOnly{c.Backend, c.Backend.(lock.Inspector)}
	})(s)
}

// inspectingOnly is no lock.Sharer.
type inspectingOnly struct {
	lock.Backend
	lock.Inspector
}

// uncertain says of a grant that comes with the end of the context that its outcome is unknown, and
// keeps the lock for a while.
func uncertain() locktest.Subject {
	return opening(func(c *locktest.Client) {
		late := func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				t, err := attempt(ctx, scope)
				time.Sleep(ttl / 1000) // in which the context ends
				if err == nil && ctx.Err() != nil {
					time.AfterFunc(ttl/2, func() { _ = t.Unlock(context.Background()) })
					return nil, &lock.UnknownError{Op: "lock", Scope: scope, Err: errFlaky}
				}
				return t, err
			}
		}
		c.Backend = methods{late(c.TryLock), late(c.Lock)}
	})(correct())
}

// unanswered says of an Unlock under a context that is done that its outcome is unknown.
func unanswered() locktest.Subject {
	return contextUnlocking(func(ctx context.Context, err error) error {
		if err == nil && ctx.Err() != nil {
			return &lock.UnknownError{Op: "unlock", Err: ctx.Err()}
		}
		return err
	})(correct())
}

func reentering() locktest.Subject {
	s := opening(func(c *locktest.Client) { c.Backend = lock.Reenter(c.Backend) })(correct())
	s.Reentrant = true
	return s
}

// reenteringReaders grants in each mode what it holds in that mode already.
func reenteringReaders() locktest.Subject {
	s := opening(func(c *locktest.Client) {
		sharer := c.Backend.(lock.Sharer)
		writers, readers := lock.Reenter(c.Backend), lock.Reenter(methods{sharer.TryRLock, sharer.RLock})
		c.Backend = sharingMethods{methods{writers.TryLock, writers.Lock}, methods{readers.TryLock, readers.Lock}}
	})(sharing())
	s.Reentrant = true
	return s
}

func tokenless() locktest.Subject {
	s := tenures(func(*service) func(*tenure) {
		return func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Token = 0; return g } }
	})(correct())
	s.NoToken = true
	return s
}

// tokensUntold tells no token of those who hold the lock or wait.
func tokensUntold() locktest.Subject {
	return telling(eachParty(func(p *lock.Party) { p.Token = 0 }))(locktest.Subject{})
}

// wordless keeps no words.
func wordless() locktest.Subject {
	s := telling(eachParty(func(p *lock.Party) { p.Words = "" }))(locktest.Subject{})
	s.NoWords = true
	return s
}

// slowly takes a while for a TryLock.
func slowly() locktest.Subject {
	return opening(func(c *locktest.Client) {
		try := c.TryLock
		c.Backend = methods{func(ctx context.Context, scope string) (lock.Tenure, error) {
			time.Sleep(ttl / 30)
			return try(ctx, scope)
		}, c.Lock}
	})(exclusive(leased()))
}

// overtaking has waiters who ask again and again, and whom others overtake.
func overtaking() locktest.Subject {
	return opening(func(c *locktest.Client) {
		try := c.TryLock
		c.Backend = methods{try, func(ctx context.Context, scope string) (lock.Tenure, error) {
			for {
				t, err := try(ctx, scope)
				if !errors.Is(err, lock.ErrLocked) {
					return t, err
				}
				select {
				case <-time.After(ttl / 50):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}}
	})(correct())
}

// displacing tells the first of those who wait, at a restart, to ask again.
func displacing() locktest.Subject {
	var (
		errForgotten = errors.New("the place in the queue is lost")
		mu           sync.Mutex
		waiting      []context.CancelFunc
	)
	s := opening(func(c *locktest.Client) {
		wait := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			until, forget := context.WithCancel(ctx)
			defer forget()
			mu.Lock()
			waiting = append(waiting, forget)
			mu.Unlock()
			t, err := wait(until, scope)
			if err != nil && ctx.Err() == nil {
				return nil, errForgotten
			}
			return t, err
		}}
	})(correct())
	s.Fair = true
	s.Again = func(err error) bool { return errors.Is(err, errForgotten) }
	s.Restart = func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if len(waiting) > 1 { // the holder's call is over
			waiting[1]()
		}
		waiting = nil
		return nil
	}
	return s
}

// displacedByRestarts tells those who wait, at a restart, that they wait no more.
func displacedByRestarts() locktest.Subject {
	return happening(events{restarted: func(all []*waiter) {
		for _, one := range all {
			one.leave()
		}
	}})(correct())
}

// displacedByCuts tells those who wait that they wait no more when their client is cut off.
func displacedByCuts() locktest.Subject {
	return happening(events{crashed: func(all []*waiter, client int) {
		for _, one := range all {
			if one.client == client {
				one.leave()
			}
		}
	}})(correct())
}

// readersFirst lets readers in past a writer that waits.
func readersFirst() locktest.Subject {
	s := serving(queue{readersJoin: func(time.Time) bool { return true }})(sharing())
	s.Fair = false
	return s
}

// exclusive is a subject without shared locks.
func exclusive(s locktest.Subject) locktest.Subject {
	s.Shared, s.Fair = false, false
	return s
}

// dialing has clients whose first call takes longer than the others.
func dialing() locktest.Subject {
	return opening(func(c *locktest.Client) {
		var dialed atomic.Bool
		c.Backend = attempts(c.Backend, func(attempt lockFunc) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if dialed.CompareAndSwap(false, true) {
					time.Sleep(ttl / 6)
				}
				return attempt(ctx, scope)
			}
		})
	})(sharing())
}

// particular refuses names that are no text, are longer than MySQL's 64 bytes, or have a space.
func particular() locktest.Subject {
	return attempting(func(attempt lockFunc) lockFunc {
		return func(ctx context.Context, scope string) (lock.Tenure, error) {
			if len(scope) > 64 || !utf8.ValidString(scope) || strings.ContainsFunc(scope, unicode.IsSpace) {
				return nil, fence.Definite.New("no name of a lock")
			}
			return attempt(ctx, scope)
		}
	})(sharing())
}

// attempting changes all calls that take the lock.
func attempting(change func(lockFunc) lockFunc) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) { c.Backend = attempts(c.Backend, change) })
}

// attempts is a backend with all calls changed that take the lock.
func attempts(b lock.Backend, change func(lockFunc) lockFunc) lock.Backend {
	s := b.(lock.Sharer)
	return sharingMethods{methods{change(b.TryLock), change(b.Lock)}, methods{change(s.TryRLock), change(s.RLock)}}
}

func TestCorrectBackendsObeyAllLaws(t *testing.T) {
	for name, subject := range map[string]func() locktest.Subject{
		"plain": correct, "sharing": sharing, "inspecting": inspecting, "inspecting without a queue": queueless, "leased": leased,
		"leased for good": lapsing, "re-entering": reentering, "re-entering by mode": reenteringReaders, "without tokens": tokenless, "uncertain": uncertain, "uncertain at the end": unanswered, "slow to begin": dialing,
		"inspecting without tokens": tokensUntold, "inspecting without words": wordless, "slow and leased": slowly, "unfair": overtaking, "waiting anew": displacing,
		"particular about names": particular,
		"readers come in first":  readersFirst, "who waits is told of restarts": displacedByRestarts, "who waits is told when it is cut off": displacedByCuts,
	} {
		t.Run(name, func(t *testing.T) {
			if got := caught(t, subject); got != nil {
				t.Errorf("the laws %q are broken", got)
			}
		})
	}
}

func TestBrokenBackendsAreCaught(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			var got []string
			for _, l := range locktest.Laws {
				trial := func() bool {
					return breaks(t, l, func() locktest.Subject { return b.subject(correct()) })
				}
				if chance.Catches(slices.Contains(b.caughtBy, l.Name), trial) {
					got = append(got, l.Name)
				}
			}
			if !slices.Equal(got, b.caughtBy) {
				t.Errorf("the laws that catch it are %q, want %q", got, b.caughtBy)
			}
		})
	}
}

// TestEveryLawMatters: without any one of the laws a broken backend passes.
func TestEveryLawMatters(t *testing.T) {
	for _, l := range locktest.Laws {
		if !slices.ContainsFunc(broken, func(b brokenBackend) bool { return slices.Equal(b.caughtBy, []string{l.Name}) }) {
			t.Errorf("no broken backend is caught by %q alone", l.Name)
		}
	}
}

// TestLawsAreLeftOut: a subject is spared the laws of what it says it is not, and of
// nothing else.
func TestLawsAreLeftOut(t *testing.T) {
	var (
		plain   = sharing()
		tokens  = []string{"tokens grow after a release", "tokens grow after an expiry", "tokens grow under racing clients", "tokens grow after idleness"}
		renewed = []string{
			"a living holder keeps the lock", "a living holder that has waited keeps the lock",
			"a living holder keeps the lock when it releases another", "a holder over a service restart keeps the lock or is told", "a waiter does not outlast a living holder",
			"a holder that was cut off for a moment keeps the lock or is told",
			"a trylock's holder keeps the lock", "a holder that wakes up steals nothing",
			"an extended tenure outlasts its holder", "an extension of a renewed tenure says what became of it",
		}
		itself = []string{
			"a client excludes itself", "a client's trylocks exclude each other", "a client's waiters exclude each other",
			"modes of one client exclude each other",
		}
		reentry = []string{
			"re-entry keeps the grant", "the last unlock frees a re-entered lock", "a second unlock of a re-entered lock counts once",
			"re-entry at once is one tenure", "a lock that is taken anew is a new grant", "a lost lock is not re-entered",
			"a re-entered lock lives until its last unlock",
		}
		lease = []string{
			"a lease ends", "a lease lasts until its time", "an extended lease goes on", "an extension after the release says so",
			"an extension of what is over says so", "an extension without an answer says so",
			"an extension under a context that is done is made or says so", "a trylock's lease is as a lock's",
			"a reader's lease is as a writer's",
		}
		inspection = []string{
			"who holds a lock can be asked", "who waits for a lock can be asked", "an inspection changes nothing",
		}
		order       = []string{"waiters are served in their order", "the order outlives one who leaves", "the order outlives a holder that crashes"}
		sharedOrder = []string{"readers do not overtake a waiting writer", "readers and writers are served in their order"}
		readers     = []string{
			"a living reader keeps the lock", "a tryrlock's reader keeps the lock", "a reader outlasts the unlocks of others",
			"a crashed reader leaves the others", "a living reader that has waited keeps the lock",
			"nobody outlasts a living holder of the other mode",
		}
		shared = slices.Concat(sharedOrder, readers, []string{
			"shared tenures overlap", "readers keep a writer out", "a writer keeps readers out", "readers and writers race",
			"modes of one client exclude each other", "a context that is done asks for no shared lock",
			"a writer whose wait ends lets readers in", "tokens grow over both modes", "a reader's unlock is its own",
			"a late unlock of a reader frees nothing", "a crash frees a shared lock", "a tryrlock does not wait",
			"a reader's unlock is as a writer's", "a reader's wait ends as a writer's does", "a reader's loss is as a writer's",
			"a crash serves those who wait in either mode", "a reader that wakes up is as a writer",
			"a reader's scopes are apart as a writer's", "nothing of readers goes on after the end",
			"a service restart is for readers as for writers",
		})
	)
	for _, test := range []struct {
		says func(*locktest.Subject)
		left []string
	}{
		{func(*locktest.Subject) {}, slices.Concat(inspection, reentry, lease)},
		{func(s *locktest.Subject) { s.NoToken = true }, slices.Concat(inspection, tokens, reentry, []string{"tokens grow over both modes"}, lease)},
		{func(s *locktest.Subject) { s.FixedLease = true }, slices.Concat(inspection, renewed, reentry, readers)},
		{func(s *locktest.Subject) { s.Fair = false }, slices.Concat(inspection, order, sharedOrder, reentry, lease)},
		{func(s *locktest.Subject) { s.Shared = false }, slices.Concat(inspection, reentry, shared, lease)},
		{func(s *locktest.Subject) { s.Reentrant = true }, slices.Concat(inspection, itself, lease)},
		{func(s *locktest.Subject) { s.Inspects = true }, slices.Concat(reentry, lease)},
	} {
		subject := plain
		test.says(&subject)
		var left []string
		for _, l := range locktest.Laws {
			if err := check(t, l, func() locktest.Subject { return fresh(subject) }); errors.Is(err, errors.ErrUnsupported) {
				left = append(left, l.Name)
			}
		}
		slices.Sort(left)
		slices.Sort(test.left)
		if !slices.Equal(left, test.left) {
			t.Errorf("of %s the laws %q are left out, want %q", subject, left, test.left)
		}
	}
}

// fresh is s on a service of its own.
func fresh(s locktest.Subject) locktest.Subject {
	s.Open = sharing().Open
	return s
}

// TestAgain: an error that says "try again" is no broken law, where the service
// says which one it is.
func TestAgain(t *testing.T) {
	busy := errors.New("serialization failure")
	subject := func(again func(error) bool) func() locktest.Subject {
		return func() locktest.Subject {
			var calls atomic.Int64
			s := opening(func(c *locktest.Client) {
				sometimes := func(attempt lockFunc) lockFunc {
					return func(ctx context.Context, scope string) (lock.Tenure, error) {
						if calls.Add(1)%3 == 0 {
							return nil, busy
						}
						return attempt(ctx, scope)
					}
				}
				c.Backend = methods{sometimes(c.TryLock), sometimes(c.Lock)}
			})(correct())
			s.Again = again
			return s
		}
	}
	if got := caught(t, subject(nil)); got == nil {
		t.Error("no law is broken, though nobody says what the error means")
	}
	again := func(err error) bool {
		if err == nil {
			t.Error("what is asked about is no error")
		}
		return errors.Is(err, busy)
	}
	if got := caught(t, subject(again)); got != nil {
		t.Errorf("the laws %q are broken", got)
	}
}

// TestMemory runs the laws as a user does, in real time.
func TestMemory(t *testing.T) {
	t.Parallel()
	var opened, closed, beside atomic.Int64
	counting := func(s locktest.Subject) locktest.Subject {
		s = opening(func(c *locktest.Client) {
			opened.Add(1)
			end := c.Close
			c.Close = func() { closed.Add(1); end() }
		})(s)
		s.Restart = func(context.Context) error {
			beside.Store(max(beside.Load(), opened.Load()-closed.Load()))
			return nil
		}
		return s
	}
	t.Run("laws", func(t *testing.T) { locktest.Run(t, counting(memory())) })
	if n := beside.Load(); n > 9 { // those of one law
		t.Errorf("the service was restarted while %d clients were there, also those of other laws", n)
	}
	if !testing.Short() {
		return
	}
	all := opened.Swap(0)
	for _, l := range locktest.Laws {
		if !l.Waits {
			_ = l.Check(t.Context(), counting(memory()))
		}
	}
	if others := opened.Load(); all > others+50 { // some make a second trial on a busy machine
		t.Errorf("a short run has opened %d clients, and the laws that do not wait open %d", all, others)
	}
}

// forShort is why a run leaves out a law that waits.
const forShort = ": it waits for the end of a lease, and the tests are to be short"

// runMemory is what TestMemory says.
func runMemory(t *testing.T, short bool) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Args[0], fmt.Sprintf("-test.short=%t", short), "-test.v", "-test.run=^TestMemory$").CombinedOutput()
	if err != nil {
		t.Errorf("short: %t: %v\n%s", short, err, out)
	}
	return string(out)
}

// memory is for real time.
func memory() locktest.Subject {
	s := locktest.NewMemory(50 * time.Millisecond).Subject()
	s.Slack = time.Second // for a busy machine
	return s
}

// TestShortRunSaysWhatItLeavesOut, by name, and how long it took.
func TestShortRunSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	out := runMemory(t, true)
	for _, l := range locktest.Laws {
		if left := strings.Contains(out, "left out: "+l.Name+forShort); left != l.Waits {
			t.Errorf("%q waits: %t; it is left out: %t", l.Name, l.Waits, left)
		}
	}
	if out := runMemory(t, false); strings.Contains(out, forShort) {
		t.Errorf("a run that is not short leaves out laws that wait:\n%s", out)
	}
	if took := regexp.MustCompile(`\d+ laws, \d+ of them left out, took [\d.]+m?s`); !took.MatchString(out) {
		t.Errorf("the run does not say how long it took:\n%s", out)
	}
}

// TestRunFails: Run says of a law that is broken how, and what the law is. That of Observed says
// what is wrong.
func TestRunFails(t *testing.T) {
	const broken = "LOCKTEST_BROKEN"
	if os.Getenv(broken) != "" {
		s := memory()
		s.NoToken = true
		locktest.Run(t, s)
		s.Open = func(context.Context) (locktest.Client, error) { return locktest.Client{}, errFlaky }
		locktest.Observed{Subject: s}.Run(t)
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.short", "-test.run=^TestRunFails$")
	cmd.Env = append(os.Environ(), broken+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("Run does not fail")
	}
	for _, want := range []string{
		"--- FAIL: TestRunFails/a_trylock_grants_as_a_lock_does", "has a token, of a service that has no ordered number",
		"The law: Its grant has all that another one has, and keeps others out.", errFlaky.Error(),
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("Run does not say %q:\n%s", want, out)
		}
	}
}

// TestFixedLeaseEndsThoughItsHolderWakes: only leases that are renewed go on when a client is no longer cut off.
func TestFixedLeaseEndsThoughItsHolderWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := locktest.NewFixedLease(ttl).Open()
		tenure, err := c.Lock(t.Context(), "scope")
		if err != nil {
			t.Fatal(err)
		}
		c.Crash()
		c.Wake()
		time.Sleep(2 * ttl)
		if tenure.Err() == nil {
			t.Error("after two leases the tenure goes on")
		}
	})
}

// TestOthersDoNotWait: a law that is not said to wait takes less than a TTL.
func TestOthersDoNotWait(t *testing.T) {
	for _, subject := range []func() locktest.Subject{inspecting, leased, reentering} {
		for _, l := range locktest.Laws {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_ = l.Check(t.Context(), subject())
				if took := time.Since(began); !l.Waits && took >= ttl {
					t.Errorf("%q takes %v, and is not said to wait", l.Name, took)
				}
				time.Sleep(time.Hour)
			})
		}
	}
}

func TestSubjectSaysWhatItIs(t *testing.T) {
	s := correct()
	const same = "a TTL of 1s and 1s of slack, "
	if got, want := s.String(), same+"ordered tokens, can be restarted, tenures that are renewed, no fair queue, exclusive locks only, does not tell who holds a lock, not re-entrant, wants no call again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Restart, s.NoToken, s.Again = nil, true, func(error) bool { return false }
	s.FixedLease, s.Fair, s.Shared, s.Inspects, s.Reentrant = true, true, true, true, true
	if got, want := s.String(), same+"no ordered tokens, cannot be restarted, a fixed lease, a fair queue, shared and exclusive locks, tells who holds a lock, re-entrant, may want a call again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSkipsSayWhy(t *testing.T) {
	for _, test := range []struct {
		missing string
		without func(locktest.Subject) locktest.Subject
		skipped int
	}{
		{"Restart", func(s locktest.Subject) locktest.Subject { s.Restart = nil; return s }, 5},
		{"Wake", opening(func(c *locktest.Client) { c.Wake = nil }), 18},
		{"Crash", opening(func(c *locktest.Client) { c.Crash = nil }), 31},
	} {
		skipped := 0
		for _, l := range locktest.Laws {
			subject := kind(t, l)
			err := check(t, l, func() locktest.Subject { return test.without(subject()) })
			if !errors.Is(err, errors.ErrUnsupported) {
				if err != nil {
					t.Errorf("without %s %q says %v", test.missing, l.Name, err)
				}
				continue
			}
			skipped++
			if !strings.Contains(err.Error(), test.missing) {
				t.Errorf("%s is skipped with %q, which does not say %s", l.Name, err, test.missing)
			}
		}
		if skipped != test.skipped {
			t.Errorf("without %s, %d laws are skipped, want %d", test.missing, skipped, test.skipped)
		}
	}
}

// opening changes each client that is opened.
func opening(change func(*locktest.Client)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		open := s.Open
		s.Open = func(ctx context.Context) (locktest.Client, error) {
			c, err := open(ctx)
			change(&c)
			return c, err
		}
		return s
	}
}
