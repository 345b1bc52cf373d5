package fencetest_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
	"github.com/fencelab/fencelab/pkg/internal/chance"
)

// correct is a fenced store as small as it can be. Each broken store is made of
// it by replacing one thing.
type correct struct {
	register fence.Register
	mu       sync.Mutex
	data     map[string]string
}

func nothing(context.Context) error { return nil }

func newCorrect() *correct { return &correct{data: make(map[string]string)} }

func (s *correct) set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[key] = value
}

func (s *correct) unset(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data, key)
}

func (s *correct) get(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.data[key]
	return v, ok
}

func (s *correct) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.set(key, value); return nil })
}

func (s *correct) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.unset(key); return nil })
}

func (s *correct) Read(ctx context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	if c.Token == 0 {
		v, ok = s.get(key)
		return v, ok, nil
	}
	err = s.register.Do(ctx, c, func(context.Context) error { v, ok = s.get(key); return nil })
	return v, ok, err
}

// writes is a store whose Write is replaced.
type writes struct {
	*correct
	write func(s *correct, c fence.Claim, key, value string) error
}

func (w writes) Write(_ context.Context, c fence.Claim, key, value string) error {
	return w.write(w.correct, c, key, value)
}

// request is what a byHand was asked, and what its rule said.
type request struct {
	op            string
	claim         fence.Claim
	key           string
	there         bool // the key had a value
	before, after fence.Mark
	err           error
}

// byHand is a store whose parts can be replaced; a nil one is as it must be.
type byHand struct {
	mu      sync.Mutex
	data    map[string]string
	marks   map[string]fence.Mark
	durable map[string]fence.Mark // what a crash leaves

	admit     func(m fence.Mark, c fence.Claim) (fence.Mark, error)
	name      func(c fence.Claim, key string) string // that the mark is kept under
	take      func(op string, c *fence.Claim)        // what is taken of a claim
	keep      func(r request) fence.Mark             // the mark afterwards
	deafReads bool                                   // reads ignore tokens
	lazyReads bool                                   // what a read does to a mark is not durable
	brief     bool                                   // a refused request makes no mark durable
}

func newByHand(admit func(fence.Mark, fence.Claim) (fence.Mark, error)) *byHand {
	return &byHand{
		data: make(map[string]string), marks: make(map[string]fence.Mark), durable: make(map[string]fence.Mark), admit: admit,
		name: func(c fence.Claim, _ string) string { return c.Scope },
		take: func(string, *fence.Claim) {},
		keep: kept,
	}
}

func kept(r request) fence.Mark {
	if r.err != nil {
		return r.before
	}
	return r.after.Done(r.claim)
}

func (s *byHand) do(kind string, c fence.Claim, key string, do func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(kind, &c)
	name := s.name(c, key)
	r := request{op: kind, claim: c, key: key, before: s.marks[name]}
	_, r.there = s.data[key]
	r.after, r.err = s.admit(r.before, c)
	s.marks[name] = s.keep(r)
	if (kind != read || !s.lazyReads) && (r.err == nil || !s.brief) {
		s.durable[name] = s.marks[name]
	}
	if r.err == nil {
		do()
	}
	return r.err
}

// The kinds of a request.
const (
	write  = "write"
	remove = "delete"
	read   = "read"
)

func (s *byHand) Write(_ context.Context, c fence.Claim, key, value string) error {
	return s.do(write, c, key, func() { s.data[key] = value })
}

func (s *byHand) Delete(_ context.Context, c fence.Claim, key string) error {
	return s.do(remove, c, key, func() { delete(s.data, key) })
}

func (s *byHand) Read(_ context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	look := func() { v, ok = s.data[key] }
	if c.Token == 0 || s.deafReads {
		s.mu.Lock()
		defer s.mu.Unlock()
		look()
		return v, ok, nil
	}
	err = s.do(read, c, key, look)
	return v, ok, err
}

func (s *byHand) crash() fencetest.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = maps.Clone(s.durable)
	return s
}

// onceKept is a store that reads its marks when it is opened, and keeps only what is changed
// from then on.
type onceKept struct{ *byHand }

func (s onceKept) crash() fencetest.Store {
	s.byHand.crash()
	s.durable = make(map[string]fence.Mark)
	return s
}

// twoSteps is a store that lets the scope go between the check and the operations
// that it names.
type twoSteps struct {
	*correct
	op string
}

func (s twoSteps) do(ctx context.Context, op string, c fence.Claim, f func()) error {
	if s.op != op {
		return s.register.Do(ctx, c, func(context.Context) error { f(); return nil })
	}
	if err := s.register.Do(ctx, c, nothing); err != nil {
		return err
	}
	gap()
	f()
	return nil
}

// gap is time for somebody else.
func gap() {
	for range rand.IntN(20) {
		runtime.Gosched()
	}
}

func (s twoSteps) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.do(ctx, write, c, func() { s.set(key, value) })
}

func (s twoSteps) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.do(ctx, remove, c, func() { s.unset(key) })
}

func (s twoSteps) Read(ctx context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	look := func() { v, ok = s.get(key) }
	if c.Token == 0 {
		look()
		return v, ok, nil
	}
	if s.op != read {
		return v, ok, s.do(ctx, read, c, look)
	}
	look() // and the check only afterwards
	gap()
	if err := s.register.Do(ctx, c, nothing); err != nil {
		return "", false, err
	}
	return v, ok, nil
}

// locks is a store with a mark for each scope and many locks. lock has the one of a request.
type locks struct {
	*correct
	lock  func(s *locks, c fence.Claim, key string) *sync.Mutex
	made  sync.Map // of *sync.Mutex
	marks sync.Map // of fence.Mark
}

// lockOfKey is a lock for each key.
func lockOfKey(s *locks, _ fence.Claim, key string) *sync.Mutex {
	l, _ := s.made.LoadOrStore(key, new(sync.Mutex))
	return l.(*sync.Mutex)
}

// lateLock is a lock for each scope, which its first claims make in two steps.
func lateLock(s *locks, c fence.Claim, _ string) *sync.Mutex {
	if l, made := s.made.Load(c.Scope); made {
		return l.(*sync.Mutex)
	}
	gap()
	l := new(sync.Mutex)
	s.made.Store(c.Scope, l)
	return l
}

func (s *locks) do(c fence.Claim, key string, op func()) error {
	l := s.lock(s, c, key)
	l.Lock()
	defer l.Unlock()
	m, _ := s.marks.LoadOrStore(c.Scope, fence.Mark{})
	next, err := m.(fence.Mark).Admit(c)
	if err != nil {
		return err
	}
	gap()
	s.marks.Store(c.Scope, next.Done(c))
	op()
	return nil
}

func (s *locks) fail(c fence.Claim, key, value string) error {
	return errors.Join(s.Write(context.Background(), fence.Claim{Scope: c.Scope, Token: c.Token}, key, value), errHalfDone)
}

func (s *locks) Write(_ context.Context, c fence.Claim, key, value string) error {
	return s.do(c, key, func() { s.set(key, value) })
}

func (s *locks) Delete(_ context.Context, c fence.Claim, key string) error {
	return s.do(c, key, func() { s.unset(key) })
}

func (s *locks) Read(_ context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	if c.Token != 0 {
		err = s.do(c, key, func() { v, ok = s.get(key) })
		return v, ok, err
	}
	v, ok = s.get(key)
	return v, ok, nil
}

// sequencePerKey is a store that counts the requests of each key by themselves.
type sequencePerKey struct {
	*byHand
	all       *sync.Mutex // requests with a number
	sequences map[string]fence.Mark
}

func (s sequencePerKey) numbered(c fence.Claim, key string, do func(fence.Claim) error) error {
	s.all.Lock()
	defer s.all.Unlock()
	next, err := s.sequences[key].Admit(c)
	if c.Token >= s.sequences[key].Token && err != nil {
		return err
	}
	whole := c
	c.Sequence = 0
	if err := do(c); err != nil {
		return err
	}
	s.sequences[key] = next.Done(whole)
	return nil
}

func (s sequencePerKey) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if c.Sequence == 0 {
		return s.byHand.Write(ctx, c, key, value)
	}
	return s.numbered(c, key, func(c fence.Claim) error { return s.byHand.Write(ctx, c, key, value) })
}

func (s sequencePerKey) Delete(ctx context.Context, c fence.Claim, key string) error {
	if c.Sequence == 0 {
		return s.byHand.Delete(ctx, c, key)
	}
	return s.numbered(c, key, func(c fence.Claim) error { return s.byHand.Delete(ctx, c, key) })
}

// process is one of two that share data and not what it keeps of the marks.
type process struct{ *correct }

func (s process) beside() fencetest.Store {
	return &sharing{process: process{newCorrect()}, data: s.correct}
}

// sharing is a process that works on the data of another one.
type sharing struct {
	process
	data *correct
}

func (s *sharing) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.data.set(key, value); return nil })
}

func (s *sharing) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.data.unset(key); return nil })
}

func (s *sharing) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if _, _, err := s.process.Read(ctx, c, key); err != nil {
		return "", false, err
	}
	v, ok := s.data.get(key)
	return v, ok, nil
}

// forgetful is a store in which a read without a token forgets the mark.
type forgetful struct{ *byHand }

func (s forgetful) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token == 0 {
		s.mu.Lock()
		delete(s.marks, c.Scope)
		s.mu.Unlock()
	}
	return s.byHand.Read(ctx, c, key)
}

// cached is a store whose reads are answered from a cache, if the key is in it.
type cached struct {
	*correct
	cache sync.Map
}

func (s *cached) Write(ctx context.Context, c fence.Claim, key, value string) error {
	defer s.cache.Delete(key)
	return s.correct.Write(ctx, c, key, value)
}

func (s *cached) Delete(ctx context.Context, c fence.Claim, key string) error {
	defer s.cache.Delete(key)
	return s.correct.Delete(ctx, c, key)
}

func (s *cached) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if v, hit := s.cache.Load(key); hit {
		return v.(string), true, nil
	}
	v, ok, err := s.correct.Read(ctx, c, key)
	if ok && err == nil {
		s.cache.Store(key, v)
	}
	return v, ok, err
}

// apart are two processes that share marks and data, but not the step of both.
type apart struct{ twoSteps }

func (s apart) beside() fencetest.Store { return s }

// opened is a correct store that a second process has opened with a gap.
type opened struct{ *correct }

func (s opened) beside() fencetest.Store { return apart{twoSteps{s.correct, write}} }

// volatile is restarted with its data and without its marks.
type volatile struct{ *correct }

func rule(m fence.Mark, c fence.Claim) (fence.Mark, error) { return m.Admit(c) }

// subject makes a Subject of a way to open a store.
func subject(open func() fencetest.Store) fencetest.Subject {
	return fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) { return open(), nil },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			s := newCorrect()
			s.register.Bound = func(fence.Claim) (fence.Token, error) { return bound, nil }
			return s, nil
		},
		Restart: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			if s, ok := s.(interface{ crash() fencetest.Store }); ok {
				return s.crash(), nil
			}
			return s, nil
		},
		Second: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			if s, ok := s.(interface{ beside() fencetest.Store }); ok {
				return s.beside(), nil
			}
			return s, nil
		},
		Fail: fail,
	}
}

// failing is a store whose operations can fail half done.
type failing interface {
	fail(c fence.Claim, key, value string) error
}

func fail(_ context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	if s, ok := s.(failing); ok {
		return s.fail(c, key, value)
	}
	return errors.New("nothing was done")
}

var errHalfDone = errors.New("half done")

func (s *correct) fail(c fence.Claim, key, value string) error {
	return s.register.Do(context.Background(), c, func(context.Context) error { s.set(key, value); return errHalfDone })
}

// markAfter is a store that raises the mark after the operation.
type markAfter struct{ *byHand }

func (s markAfter) fail(c fence.Claim, key, value string) error {
	s.data[key] = value
	return errHalfDone
}

// doneAlready is a store that counts a sequence number also where the operation
// fails.
type doneAlready struct{ *byHand }

func (s doneAlready) fail(c fence.Claim, key, value string) error {
	return errors.Join(s.Write(context.Background(), c, key, value), errHalfDone)
}

// inOtherWords is a correct store that takes a duplicate for done, and leaves open what became of a write whose context
// is done.
type inOtherWords struct{ *correct }

func (s inOtherWords) Write(ctx context.Context, c fence.Claim, key, value string) error {
	switch err := s.correct.Write(context.WithoutCancel(ctx), c, key, value); {
	case errors.Is(err, fence.ErrDuplicate):
		return nil
	case err == nil && ctx.Err() != nil:
		return fence.Unknown.Wrap(ctx.Err())
	default:
		return err
	}
}

func (s inOtherWords) Delete(ctx context.Context, c fence.Claim, key string) error {
	if err := s.correct.Delete(ctx, c, key); !errors.Is(err, fence.ErrDuplicate) {
		return err
	}
	return nil
}

func TestCorrectStoreObeysAllLaws(t *testing.T) {
	for _, open := range []func() fencetest.Store{
		func() fencetest.Store { return newCorrect() },
		func() fencetest.Store { return newByHand(rule) },
		func() fencetest.Store { return inOtherWords{newCorrect()} },
		newWay(firstLock),
		func() fencetest.Store {
			return failsBy{newByHand(rule), func(*byHand, fence.Claim, string, string) error {
				return fence.Definite.Wrap(errors.New("no room, nothing was done"))
			}}
		},
	} {
		s := subject(open)
		s.Idle = time.Millisecond
		fencetest.Run(t, s)
	}
}

// TestLesserStoresObeyTheOtherLaws: a store that says that it looks at no sequence numbers, or at no modes, is not asked to.
func TestLesserStoresObeyTheOtherLaws(t *testing.T) {
	without := func(take func(*fence.Claim)) fencetest.Subject {
		s := subject(func() fencetest.Store {
			store := newByHand(rule)
			store.take = func(_ string, c *fence.Claim) { take(c) }
			return store
		})
		s.OpenBounded, s.Fail = nil, nil // of a store that looks at all
		return s
	}
	sequences := without(func(c *fence.Claim) {
		if c.Sequence != 0 {
			t.Errorf("a store that looks at no sequence numbers is given %d", c.Sequence)
		}
	})
	modes := without(func(c *fence.Claim) { c.Mode = fence.Exclusive })
	sequences.NoSequence, modes.NoShared = true, true
	for what, s := range map[string]fencetest.Subject{"sequence numbers": sequences, "modes": modes} {
		s.Idle = time.Millisecond
		for _, law := range fencetest.Laws {
			if err := law.Check(t.Context(), s); err != nil && !errors.Is(err, fencetest.ErrNotApplicable) {
				t.Errorf("a store that looks at no %s: %s: %v", what, law.Name, err)
			}
		}
	}
}

// byRule opens stores with a rule of their own.
func byRule(admit func(fence.Mark, fence.Claim) (fence.Mark, error)) func() fencetest.Store {
	return func() fencetest.Store { return newByHand(admit) }
}

// brokenStores are broken also where there are no shared claims, which they do not know.
func brokenStores() []broken {
	with := func(change func(*byHand)) func() fencetest.Store {
		return func() fencetest.Store {
			s := newByHand(rule)
			change(s)
			return s
		}
	}
	keeping := func(f func(request) fence.Mark) func() fencetest.Store {
		return with(func(s *byHand) { s.keep = f })
	}
	taking := func(f func(string, *fence.Claim)) func() fencetest.Store {
		return with(func(s *byHand) { s.take = f })
	}
	naming := func(f func(fence.Claim, string) string) func() fencetest.Store {
		return with(func(s *byHand) { s.name = f })
	}
	return []broken{
		{
			name: "check and write in two steps",
			open: func() fencetest.Store { return twoSteps{newCorrect(), write} },
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndReadAreOneStep", "CheckAndWriteAreOneStep", "CrowdIsOneStep",
				"FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep", "ProcessesShareEveryScopeStep",
				"ProcessesShareEveryStep", "ProcessesShareTheSequenceStep", "ProcessesShareTheStep",
				"ScopeIsOneStep", "SequenceIsOneStep",
			},
		},
		{
			name:   "check and delete in two steps",
			open:   func() fencetest.Store { return twoSteps{newCorrect(), remove} },
			change: func(s *fencetest.Subject) { s.Second, s.NoSequence = nil, true },
			caught: []string{"CheckAndDeleteAreOneStep", "CrowdOfAllIsOneStep", "FirstClaimsOfAllAreOneStep", "ScopeIsOneStep"},
		},
		{
			name:   "a read looks first and is checked afterwards",
			open:   func() fencetest.Store { return twoSteps{newCorrect(), read} },
			change: alone,
			caught: []string{"CheckAndDeleteAreOneStep", "CheckAndReadAreOneStep", "FirstClaimsOfAllAreOneStep"},
		},
		{
			name:   "a lock for each key, a mark for each scope",
			open:   func() fencetest.Store { return &locks{correct: newCorrect(), lock: lockOfKey} },
			change: alone,
			caught: []string{"ScopeIsOneStep"},
		},
		{
			name:   "a lock for each scope, which its first claims make in two steps",
			open:   func() fencetest.Store { return &locks{correct: newCorrect(), lock: lateLock} },
			change: func(s *fencetest.Subject) { s.Second, s.NoSequence = nil, true },
			caught: []string{"FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep"},
		},
		{
			name:    "reads are answered from a cache",
			open:    func() fencetest.Store { return &cached{correct: newCorrect()} },
			perhaps: []string{"CrowdIsOneStep"},
			caught: []string{
				"CheckAndOlderReadAreOneStep", "CrowdOfAllIsOneStep", "FirstClaimsOfAllAreOneStep",
				"ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ReadRaisesMark", "StaleReadRefused",
			},
		},
		{
			name: "a read without a token forgets the mark",
			open: func() fencetest.Store { return forgetful{newByHand(rule)} },
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "CheckAndReadAreOneStep",
				"CheckAndWriteAreOneStep", "CrowdIsOneStep", "CrowdOfAllIsOneStep", "DoneContextDoesNothing",
				"EndingContextLeavesNoHalf", "FailureKeepsMark", "FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep",
				"InvalidSequenceRefused", "KeyHasNoMark", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep",
				"ProcessesShareTheSequenceStep", "ProcessesShareTheStep", "RefusedWriteIsNeverSeen", "ScopeIsOneStep",
				"SequenceIsOneStep", "StaleReadRefused", "TimeKeepsMark", "UnfencedReadAllowed", "ValueIsNoMark",
			},
		},
		{
			name: "two scopes in many share a mark",
			open: naming(func(c fence.Claim, _ string) string {
				sum := sha256.Sum256([]byte(c.Scope))
				return string(sum[:2])
			}),
			caught: []string{"ManyMarksStay", "MarksOfAllRequestsStay", "RestartKeepsManyMarks"},
		},
		{
			name: "the newest token of any scope is not checked",
			open: func() fencetest.Store {
				var newest fence.Token
				return newByHand(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
					if c.Token != 0 && c.Token == newest {
						return fence.Mark{}.Admit(c)
					}
					next, err := m.Admit(c)
					if err == nil {
						newest = c.Token
					}
					return next, err
				})
			},
			caught: []string{
				"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreIndependent",
				"ScopesAreNotConfused",
			},
			change: func(s *fencetest.Subject) { s.NoSequence = true },
		},
		{
			name: "tokens are compared as text of ten digits",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := (fence.Mark{}).Admit(c)
				if err == nil && fmt.Sprintf("%010d", c.Token) < fmt.Sprintf("%010d", m.Token) {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return next, err
			}),
			caught: []string{"TokensCompareAsNumbers", "UnknownModeRefused"},
			change: func(s *fencetest.Subject) { s.NoSequence = true },
		},
		{
			name: "what a crash leaves is tidied up, and has no marks of deleted keys then",
			open: func() fencetest.Store {
				s := newByHand(rule)
				requests := 0
				s.keep = func(r request) fence.Mark {
					if requests++; requests%1000 == 0 {
						maps.DeleteFunc(s.durable, func(scope string, _ fence.Mark) bool { return s.data[scope] == "" })
					}
					return kept(r)
				}
				return s
			},
			caught: []string{"RestartKeepsManyMarks"},
		},
		{
			name: "two processes with marks of their own",
			open: func() fencetest.Store { return process{newCorrect()} },
			caught: []string{
				"ManyMarksStay", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ProcessesShareMarks",
				"ProcessesShareTheSequenceStep", "ProcessesShareTheStep",
			},
		},
		{
			name: "two processes with a gap between them",
			open: func() fencetest.Store { return opened{newCorrect()} },
			caught: []string{
				"ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ProcessesShareTheSequenceStep",
				"ProcessesShareTheStep",
			},
		},
		{
			name: "a delete does not raise the mark",
			open: keeping(func(r request) fence.Mark {
				if r.op == remove {
					return r.before
				}
				return kept(r)
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "DeleteRaisesMark", "DoneContextDoesNothing",
				"EndingContextLeavesNoHalf", "EveryRefusalNamesBothTokens", "FirstClaimsOfAllAreOneStep",
				"MarksOfAllRequestsStay", "ProcessesShareEveryStep", "ProcessesShareMarks", "RefusalNamesTheSequence",
				"RestartKeepsEveryMark", "ScopesAreApartForAll", "SequenceOrdersDeletes", "UnknownModeRefused",
			},
		},
		{
			name: "a delete of nothing does not raise the mark",
			open: keeping(func(r request) fence.Mark {
				if r.op == remove && !r.there {
					return r.before
				}
				return kept(r)
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "DeleteRaisesMark", "FirstClaimsOfAllAreOneStep", "MarksOfAllRequestsStay",
				"ProcessesShareEveryStep", "ProcessesShareMarks", "RestartKeepsEveryMark", "ScopesAreApartForAll",
				"UnknownModeRefused",
			},
		},
		{
			name: "a stale delete lowers the mark",
			open: keeping(func(r request) fence.Mark {
				if r.op == remove && errors.Is(r.err, fence.ErrStale) {
					return fence.Mark{Token: r.claim.Token}
				}
				return kept(r)
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "CrowdOfAllIsOneStep", "EveryRefusalNamesBothTokens",
				"FirstClaimsOfAllAreOneStep", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep",
				"ProcessesShareMarks", "RefusalIsDefinite", "RefusalKeepsMark", "RefusedWriteIsNeverSeen", "ScopeIsOneStep",
				"SequenceOrdersDeletes",
			},
		},
		{
			name: "a stale read lowers the mark",
			open: keeping(func(r request) fence.Mark {
				if r.op == read && errors.Is(r.err, fence.ErrStale) {
					return fence.Mark{Token: r.claim.Token}
				}
				return kept(r)
			}),
			caught: []string{
				"CheckAndOlderReadAreOneStep", "CrowdOfAllIsOneStep", "FirstClaimsOfAllAreOneStep",
				"ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "RefusalIsDefinite", "RefusalKeepsMark",
			},
		},
		{
			name:   "the mark of a read is in memory only",
			open:   func() fencetest.Store { s := newByHand(rule); s.lazyReads = true; return s },
			caught: []string{"RestartKeepsEveryMark"},
		},
		{
			name: "a read resets the sequence",
			open: keeping(func(r request) fence.Mark {
				if r.op == read && r.err == nil {
					return fence.Mark{Token: r.claim.Token}
				}
				return kept(r)
			}),
			caught: []string{"SequenceOutlivesOthers"},
		},
		{
			name: "a delete ignores the sequence",
			open: taking(func(op string, c *fence.Claim) {
				if op == remove {
					c.Sequence = 0
				}
			}),
			caught: []string{
				"InvalidSequenceRefused", "ProcessesShareMarks", "ProcessesShareTheSequenceStep", "RefusalIsDefinite",
				"RefusalNamesTheSequence", "SequenceIsOneStep", "SequenceOrdersDeletes",
			},
		},
		{
			name:   "sequence numbers go through 32 bits",
			open:   taking(func(_ string, c *fence.Claim) { c.Sequence = int64(uint32(c.Sequence)) }),
			caught: []string{"InvalidSequenceRefused", "RefusalIsDefinite", "SequenceHas64Bits", "SequenceOrdersDeletes"},
		},
		{
			name: "a sequence for each key",
			open: func() fencetest.Store {
				return sequencePerKey{newByHand(rule), new(sync.Mutex), make(map[string]fence.Mark)}
			},
			caught: []string{"RestartKeepsMark", "SequenceIsOfTheTenure"},
		},
		{
			name: "no more than 1000 marks",
			open: func() fencetest.Store {
				s := newByHand(rule)
				s.keep = func(r request) fence.Mark {
					if len(s.marks) > 1000 {
						clear(s.marks)
					}
					return kept(r)
				}
				return s
			},
			caught: []string{"ManyMarksStay", "MarksOfAllRequestsStay", "RestartKeepsManyMarks"},
		},
		{
			name: "marks expire",
			open: func() fencetest.Store {
				s, last := newByHand(rule), time.Now()
				s.take = func(string, *fence.Claim) {
					if time.Since(last) > 5*time.Second {
						clear(s.marks)
					}
					last = time.Now()
				}
				return s
			},
			caught: []string{"TimeKeepsMark"},
		},
		{
			name:   "scopes are folded in case",
			open:   naming(func(c fence.Claim, _ string) string { return strings.ToLower(c.Scope) }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name:   "scopes are cut",
			open:   naming(func(c fence.Claim, _ string) string { return c.Scope[:min(len(c.Scope), 255)] }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name:   "scopes are cleaned like paths",
			open:   naming(func(c fence.Claim, _ string) string { return path.Clean(c.Scope) }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name: "scope and key are joined",
			open: naming(func(c fence.Claim, key string) string { return c.Scope + ":" + key }),
			caught: []string{
				"DeleteRaisesMark", "KeyHasNoMark", "ProcessesShareEveryScopeStep", "ScopeAndKeyAreApart",
				"ScopeGuardsAllItsKeys", "ScopeGuardsManyKeys", "ScopeIsOneStep", "SequenceIsOfTheTenure",
			},
		},
		{
			name: "equality instead of order, as in contrib/lock",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if m.Token != 0 && c.Token > m.Token {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "CheckAndReadAreOneStep",
				"CheckAndWriteAreOneStep", "CrowdIsOneStep", "CrowdOfAllIsOneStep", "DeleteRaisesMark",
				"DoneContextDoesNothing", "EndingContextLeavesNoHalf", "EveryRefusalNamesBothTokens", "FailureKeepsMark",
				"FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep", "InvalidSequenceRefused", "KeyHasNoMark",
				"KeyIsNoMark", "LargestTokenAdmitted", "NewerTokenReplaces", "ProcessesShareEveryScopeStep",
				"ProcessesShareEveryStep", "ProcessesShareMarks", "ProcessesShareTheSequenceStep", "ProcessesShareTheStep",
				"ReadRaisesMark", "RestartKeepsEveryMark", "RestartKeepsMark", "ScopeGuardsAllItsKeys",
				"ScopeGuardsManyKeys", "ScopeIsOneStep", "SequenceEndsWithTenure", "SequenceIsOneStep", "StaleWriteRefused",
				"TokensCompareAsNumbers", "ValueIsNoMark",
			},
		},
		{
			name: "mark lost on delete",
			open: keeping(func(r request) fence.Mark {
				if r.op == remove && r.err == nil {
					return fence.Mark{}
				}
				return kept(r)
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "DeleteKeepsMark", "DeleteRaisesMark",
				"DoneContextDoesNothing", "EndingContextLeavesNoHalf", "EveryRefusalNamesBothTokens",
				"FirstClaimsOfAllAreOneStep", "KeyHasNoMark", "MarksOfAllRequestsStay", "ProcessesShareEveryStep",
				"ProcessesShareMarks", "RefusalNamesTheSequence", "RestartKeepsEveryMark", "RestartKeepsManyMarks",
				"ScopesAreApartForAll", "SequenceOrdersDeletes", "SequenceOutlivesOthers", "TimeKeepsMark",
				"UnknownModeRefused",
			},
		},
		{
			name: "missing token adopted",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Token == 0 {
					c.Token = max(m.Token, 1)
				}
				return m.Admit(c)
			}),
			caught: []string{"MissingTokenRefused", "RefusalChangesNothing", "RefusalIsDefinite"},
		},
		{
			name: "equal token refused",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Token != 0 && c.Token == m.Token {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{
				"DeleteKeepsMark", "DeleteRaisesMark", "EqualTokenAdmitted", "FailureKeepsMark", "InvalidSequenceRefused",
				"KeyHasNoMark", "KeyIsNoMark", "ProcessesShareTheSequenceStep", "ReadRaisesMark", "RefusalChangesNothing",
				"RefusalIsDefinite", "RefusalKeepsMark", "RefusalNamesTheSequence", "RestartKeepsManyMarks",
				"RestartKeepsMark", "RestartKeepsScopesApart", "ScopeAndKeyAreApart", "ScopeGuardsAllItsKeys",
				"ScopeGuardsManyKeys", "ScopesAreIndependent", "SequenceDropsDuplicates", "SequenceHas64Bits",
				"SequenceIsOneStep", "SequenceOrders", "SequenceOrdersDeletes", "SequenceOutlivesOthers",
				"StaleReadRefused", "TimeKeepsMark", "UnfencedReadAllowed", "UnknownModeRefused",
			},
		},
		{
			name: "a write is refused that follows from a read of its tenure",
			open: keeping(func(r request) fence.Mark {
				if m := kept(r); r.op != read || r.err != nil || r.claim.Token == 0 {
					return m
				}
				return fence.Mark{Token: r.claim.Token + 1}
			}),
			caught: []string{
				"EqualTokenAdmitted", "EveryRefusalNamesBothTokens", "KeyHasNoMark", "ReadRaisesMark",
				"SequenceOutlivesOthers",
			},
		},
		{
			name: "an empty value is not checked",
			open: func() fencetest.Store {
				return writes{newCorrect(), func(s *correct, c fence.Claim, key, value string) error {
					if value == "" {
						s.set(key, value)
						return nil
					}
					return s.Write(context.Background(), c, key, value)
				}}
			},
			caught: []string{"StaleWriteRefused"},
		},
		{
			name: "a value that is there already raises no mark",
			open: func() fencetest.Store {
				return writes{newCorrect(), func(s *correct, c fence.Claim, key, value string) error {
					if old, there := s.get(key); there && old == value && c.Token > 0 {
						return nil
					}
					return s.Write(context.Background(), c, key, value)
				}}
			},
			caught: []string{"ProcessesShareMarks", "SequenceOrders", "StaleWriteRefused"},
		},
		{
			name:   "marks outlive one restart and no second one",
			open:   func() fencetest.Store { s := newByHand(rule); s.brief = true; return onceKept{s} },
			caught: []string{"RestartKeepsEveryMark", "RestartKeepsManyMarks", "RestartKeepsMark"},
		},
		{
			name: "reads ignore the token",
			open: func() fencetest.Store { s := newByHand(rule); s.deafReads = true; return s },
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "CheckAndReadAreOneStep",
				"CrowdOfAllIsOneStep", "DoneContextDoesNothing", "EndingContextLeavesNoHalf",
				"EveryRefusalNamesBothTokens", "FirstClaimsOfAllAreOneStep", "InvalidTokenRefused",
				"MarksOfAllRequestsStay", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep",
				"ProcessesShareMarks", "ReadRaisesMark", "RefusalIsDefinite", "RefusedReadTellsNothing",
				"RestartKeepsEveryMark", "ScopesAreApartForAll", "StaleReadRefused", "TimeKeepsMark",
				"UnknownModeRefused",
			},
		},
		{
			name: "a mark per key",
			open: naming(func(_ fence.Claim, key string) string { return key }),
			caught: []string{
				"DeleteRaisesMark", "KeyHasNoMark", "ProcessesShareEveryScopeStep", "ScopeGuardsAllItsKeys",
				"ScopeGuardsManyKeys", "ScopeIsOneStep", "SequenceIsOfTheTenure",
			},
		},
		{
			name: "one mark for all locks",
			open: byRule(nil),
			change: func(s *fencetest.Subject) {
				s.Open = func(context.Context) (fencetest.Store, error) {
					var all fence.Mark
					return newByHand(func(_ fence.Mark, c fence.Claim) (m fence.Mark, err error) {
						m, err = all.Admit(c)
						all = m.Done(c)
						return m, err
					}), nil
				}
			},
			caught: []string{
				"EndingContextLeavesNoHalf", "KeyHasNoMark", "KeyIsNoMark", "ManyMarksStay", "MarksOfAllRequestsStay",
				"OddScopesAreApart", "RefusalNamesTheSequence", "RestartKeepsEveryMark", "RestartKeepsManyMarks",
				"RestartKeepsScopesApart", "ScopeAndKeyAreApart", "ScopesAreApartForAll", "ScopesAreIndependent",
				"ScopesAreNotConfused", "SequenceEndsWithTenure",
			},
		},
		{
			name: "tokens go through a float",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				c.Token = fence.Token(float32(c.Token))
				return m.Admit(c)
			}),
			caught: []string{
				"LargestTokenAdmitted", "RefusalNamesBothTokens", "RestartKeepsMark", "TokensCompareAsNumbers",
			},
		},
		{
			name: "tokens are compared as text",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				first, err := fence.Mark{}.Admit(c)
				switch {
				case err != nil || m.Token == 0 || c.Token == m.Token:
					return m.Admit(c)
				case c.Token.String() < m.Token.String():
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return first, nil
			}),
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "CheckAndReadAreOneStep",
				"CheckAndWriteAreOneStep", "CrowdIsOneStep", "CrowdOfAllIsOneStep", "FirstClaimsAreOneStep",
				"FirstClaimsOfAllAreOneStep", "KeyHasNoMark", "ManyMarksStay", "MarksOfAllRequestsStay",
				"OddScopesAreApart", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ProcessesShareTheStep",
				"RestartKeepsManyMarks", "RestartKeepsMark", "RestartKeepsScopesApart", "ScopeIsOneStep",
				"ScopesAreApartForAll", "ScopesAreNotConfused", "TokensCompareAsNumbers", "ValueIsNoMark",
			},
		},
		{
			name: "tokens go through 32 bits",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Token > 0 {
					c.Token = fence.Token(uint32(c.Token))
				}
				return m.Admit(c)
			}),
			caught: []string{
				"LargestTokenAdmitted", "RefusalNamesBothTokens", "RestartKeepsMark", "TokensCompareAsNumbers",
			},
		},
		{
			name: "the refusal does not say the mark",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if errors.Is(err, fence.ErrStale) {
					err = fence.ErrStale
				}
				return next, err
			}),
			caught: []string{"EveryRefusalNamesBothTokens", "RefusalNamesBothTokens", "RefusalNamesTheSequence"},
		},
		{
			name: "the refusal says another mark",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				var stale *fence.StaleError
				if errors.As(err, &stale) {
					stale.Mark++
				}
				return next, err
			}),
			caught: []string{"EveryRefusalNamesBothTokens", "RefusalNamesBothTokens", "RefusalNamesTheSequence"},
		},
		{
			name: "sequence numbers ignored",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				c.Sequence = 0
				return m.Admit(c)
			}),
			caught: []string{
				"FailureKeepsMark", "InvalidSequenceRefused", "KeyHasNoMark", "ManyMarksStay", "ProcessesShareMarks",
				"ProcessesShareTheSequenceStep", "RefusalIsDefinite", "RefusalNamesTheSequence", "RestartKeepsMark",
				"SequenceDropsDuplicates", "SequenceHas64Bits", "SequenceIsOfTheTenure", "SequenceIsOneStep",
				"SequenceOrders", "SequenceOrdersDeletes", "SequenceOutlivesOthers", "TimeKeepsMark",
			},
		},
		{
			name: "sequence numbers outlive the tenure",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if err == nil && c.Sequence > 0 && c.Sequence < m.Sequence {
					return m, fence.ErrStale
				}
				next.Sequence = m.Sequence
				return next, err
			}),
			caught: []string{"SequenceEndsWithTenure"},
		},
		{
			name: "no bound",
			open: byRule(rule),
			change: func(s *fencetest.Subject) {
				s.OpenBounded = func(ctx context.Context, _ fence.Token) (fencetest.Store, error) { return s.Open(ctx) }
			},
			caught: []string{"AheadRefused", "RefusalIsDefinite", "RefusedReadTellsNothing"},
		},
		{
			name: "marks lost at restart",
			open: func() fencetest.Store { return volatile{newCorrect()} },
			change: func(s *fencetest.Subject) {
				s.Restart = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
					return volatile{&correct{data: s.(volatile).data}}, nil
				}
			},
			caught: []string{
				"FailureKeepsMark", "KeyHasNoMark", "RestartKeepsEveryMark", "RestartKeepsManyMarks", "RestartKeepsMark",
				"RestartKeepsScopesApart",
			},
		},
		{
			name:   "the mark is raised after the operation",
			open:   func() fencetest.Store { return markAfter{newByHand(rule)} },
			caught: []string{"FailureKeepsMark"},
		},
		{
			name:   "a failure counts as done",
			open:   func() fencetest.Store { return doneAlready{newByHand(rule)} },
			caught: []string{"FailureKeepsMark"},
		},
		{
			name: "what is to fail does nothing, and is said to be done",
			open: byRule(rule),
			change: func(s *fencetest.Subject) {
				s.Fail = func(context.Context, fencetest.Store, fence.Claim, string, string) error { return nil }
			},
			caught: []string{"FailureKeepsMark"},
		},
		{
			name: "a refused write is stored all the same",
			open: func() fencetest.Store {
				return writes{newCorrect(), func(s *correct, c fence.Claim, key, value string) error {
					err := s.register.Do(context.Background(), c, nothing)
					s.set(key, value)
					return err
				}}
			},
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndReadAreOneStep", "CheckAndWriteAreOneStep", "CrowdIsOneStep",
				"DeleteKeepsMark", "DeleteRaisesMark", "FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep",
				"InvalidSequenceRefused", "InvalidTokenRefused", "LargestTokenAdmitted", "MissingTokenRefused",
				"ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ProcessesShareMarks",
				"ProcessesShareTheSequenceStep", "ProcessesShareTheStep", "ReadRaisesMark", "RefusalChangesNothing",
				"RefusedWriteIsNeverSeen", "RestartKeepsMark", "ScopeGuardsAllItsKeys", "ScopeIsOneStep",
				"ScopesAreIndependent", "SequenceDropsDuplicates", "SequenceHas64Bits", "SequenceIsOfTheTenure",
				"SequenceIsOneStep", "SequenceOrders", "SequenceOrdersDeletes", "SequenceOutlivesOthers",
				"StaleWriteRefused", "TimeKeepsMark", "TokensCompareAsNumbers", "UnknownModeRefused",
			},
		},
	}
}

// TestBrokenStoresAreCaught shows each broken store to the whole suite: the laws
// that it breaks must say so, and no other may.
func TestBrokenStoresAreCaught(t *testing.T) {
	for _, tt := range brokenStores() {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.subject()
			s.NoShared = true
			mustBeCaught(t, s, tt)
		})
	}
}

// broken is a store that is broken, and the laws that it breaks.
type broken struct {
	name   string
	open   func() fencetest.Store
	change func(*fencetest.Subject) // may be nil
	caught []string
	// perhaps are laws that may catch it, too.
	perhaps []string
}

func (b broken) subject() fencetest.Subject {
	s := subject(b.open)
	if b.change != nil {
		b.change(&s)
	}
	return s
}

// walks are the laws that find much of what other laws find. Their word counts where no
// other law has one.
var walks = []string{
	"RequestsInAnyOrder", "ProcessesShareAnyOrder", "RestartKeepsAnyOrder", "AheadInAnyOrder", "TokensOfAllCompareAsNumbers",
}

// mustBeCaught shows a broken store to all laws that it says it obeys.
func mustBeCaught(t *testing.T, s fencetest.Subject, b broken) {
	t.Helper()
	got := b.caughtBy(t, s, func(law string) bool { return !slices.Contains(walks, law) })
	if got == nil {
		got = b.caughtBy(t, s, func(law string) bool { return slices.Contains(walks, law) })
	}
	if !slices.Equal(got, b.caught) {
		t.Errorf("caught by %q\nwant      %q", got, b.caught)
	}
}

// caughtBy are those of the asked laws that catch the store, by name.
func (b broken) caughtBy(t *testing.T, s fencetest.Subject, asked func(law string) bool) (names []string) {
	for _, law := range fencetest.Laws {
		if asked(law.Name) && !slices.Contains(b.perhaps, law.Name) && b.isCaught(t, s, law) {
			names = append(names, law.Name)
		}
	}
	slices.Sort(names)
	return names
}

// isCaught is whether the law catches the store.
func (b broken) isCaught(t *testing.T, s fencetest.Subject, law fencetest.Law) bool {
	trial := func() (caught bool) {
		synctest.Test(t, func(t *testing.T) { // in which no time goes by that nobody waits for
			err := law.Check(t.Context(), s)
			if caught = err != nil && !errors.Is(err, fencetest.ErrNotApplicable); caught {
				t.Logf("%s: %v", law.Name, err)
			}
		})
		return caught
	}
	return chance.Catches(slices.Contains(b.caught, law.Name), trial)
}

// TestMissingAbilitiesAreNamed: a law that needs what the store cannot do is left out, and no
// other law.
func TestMissingAbilitiesAreNamed(t *testing.T) {
	whole := func() fencetest.Subject { return subject(func() fencetest.Store { return newCorrect() }) }
	leftOut := func(s fencetest.Subject) (names []string) {
		s.Idle = time.Millisecond
		for _, law := range fencetest.Laws {
			if err := law.Check(t.Context(), s); errors.Is(err, fencetest.ErrNotApplicable) {
				names = append(names, law.Name)
			} else if err != nil {
				t.Errorf("%s: %v", law.Name, err)
			}
		}
		return names
	}
	none := whole()
	var all []string // that are left out for one reason at least
	for _, tt := range []struct {
		name   string
		change func(*fencetest.Subject)
		want   []string
	}{
		{"sequence numbers", func(s *fencetest.Subject) { s.NoSequence = true }, []string{
			"SequenceOrders", "SequenceDropsDuplicates", "SequenceEndsWithTenure", "SequenceIsOfTheTenure",
			"SequenceHas64Bits", "SequenceOrdersDeletes", "SequenceOutlivesOthers", "SequenceOutlivesShared",
			"SequenceIsOneStep", "InvalidSequenceRefused", "ProcessesShareTheSequenceStep", "SharedHasNoSequence", "RefusalNamesTheSequence",
		}},
		{"shared claims", func(s *fencetest.Subject) { s.NoShared = true }, []string{
			"SequenceOutlivesShared", "ProcessesShareTheSharedStep", "SharedClaimsShare", "StaleSharedRefused", "SharedRaisesMark",
			"SharedMarkStays", "SharedMarkIsNoExclusiveOne", "SharedHasNoSequence", "SharedIsOneStep",
			"FirstSharedClaimsAreOneStep", "RestartKeepsBothMarks", "ProcessesShareBothMarks", "SharedAheadRefused", "RefusalNamesTheMode",
		}},
		{"refusals that name the mark", func(s *fencetest.Subject) { s.Terse = true }, []string{
			"RefusalNamesTheMode", "RefusalNamesBothTokens", "EveryRefusalNamesBothTokens", "RefusalNamesTheSequence",
		}},
		{"restart", func(s *fencetest.Subject) { s.Restart = nil }, []string{
			"RestartKeepsMark", "RestartKeepsEveryMark", "RestartKeepsManyMarks", "RestartKeepsAnyOrder",
			"RestartKeepsScopesApart", "RestartKeepsBothMarks",
		}},
		{"second process", func(s *fencetest.Subject) { s.Second = nil }, []string{
			"ProcessesShareMarks", "ProcessesShareTheStep", "ProcessesShareEveryStep", "ProcessesShareEveryScopeStep",
			"ProcessesShareTheSequenceStep", "ProcessesShareTheSharedStep", "ProcessesShareAnyOrder", "ProcessesShareBothMarks",
		}},
		{"bound", func(s *fencetest.Subject) { s.OpenBounded = nil }, []string{"AheadRefused", "AheadInAnyOrder", "SharedAheadRefused"}},
		{"failure", func(s *fencetest.Subject) { s.Fail = nil }, []string{"FailureKeepsMark"}},
	} {
		s := whole()
		tt.change(&s)
		tt.change(&none)
		if got := leftOut(s); !slices.Equal(got, tt.want) {
			t.Errorf("without %s: left out %q, want %q", tt.name, got, tt.want)
		}
		all = append(all, tt.want...)
	}
	slices.Sort(all)
	if got := slices.Sorted(slices.Values(leftOut(none))); !slices.Equal(got, slices.Compact(all)) {
		t.Errorf("without all of it: left out %q, want %q", got, all)
	}
}

// cannot is a store that has no way to make some requests.
type cannot struct {
	*correct
	such func(op string, c fence.Claim) bool
}

var errCannot = fmt.Errorf("%w: there is no such request", fencetest.ErrNotApplicable)

func (s cannot) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if s.such(write, c) {
		return errCannot
	}
	return s.correct.Write(ctx, c, key, value)
}

func (s cannot) Delete(ctx context.Context, c fence.Claim, key string) error {
	if s.such(remove, c) {
		return errCannot
	}
	return s.correct.Delete(ctx, c, key)
}

func (s cannot) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if s.such(read, c) {
		return "", false, errCannot
	}
	return s.correct.Read(ctx, c, key)
}

// TestRequestsThatCannotBeMade: laws that need one are left out, and no others. Those that make
// one request after the other say what the store says.
func TestRequestsThatCannotBeMade(t *testing.T) {
	oneByOne := []string{"StaleDeleteRefused", "RefusalIsDefinite", "EveryRefusalNamesBothTokens"}
	for _, tt := range []struct {
		name string
		such func(op string, c fence.Claim) bool
		want []string
	}{
		{"deletes", func(op string, _ fence.Claim) bool { return op == remove }, []string{
			"StaleDeleteRefused", "NewerTokenReplaces", "EqualTokenAdmitted", "MissingTokenRefused",
			"InvalidTokenRefused", "CheckAndDeleteAreOneStep", "SequenceOrdersDeletes",
			"SequenceOutlivesOthers", "SequenceOutlivesShared", "SequenceIsOneStep", "InvalidSequenceRefused",
			"DeleteRaisesMark", "DeleteKeepsMark", "RestartKeepsMark", "RestartKeepsEveryMark", "RestartKeepsManyMarks",
			"MarksOfAllRequestsStay", "TimeKeepsMark", "ProcessesShareMarks", "ProcessesShareTheSequenceStep",
			"RefusedWriteIsNeverSeen", "RefusalIsDefinite", "DoneContextDoesNothing",
			"EndingContextLeavesNoHalf", "UnknownModeRefused", "ScopesAreApartForAll", "KeyHasNoMark", "KeyIsNoMark",
			"SharedClaimsShare", "StaleSharedRefused", "SharedRaisesMark", "SharedHasNoSequence",
			"RefusalNamesTheMode", "EveryRefusalNamesBothTokens", "RefusalNamesTheSequence",
		}},
		{"reads with a token", func(op string, c fence.Claim) bool { return op == read && c.Token != 0 }, []string{
			"StaleReadRefused", "RefusedReadTellsNothing", "EqualTokenAdmitted", "InvalidTokenRefused",
			"CheckAndReadAreOneStep", "CheckAndOlderReadAreOneStep", "SequenceOutlivesOthers", "SequenceOutlivesShared",
			"RestartKeepsEveryMark", "MarksOfAllRequestsStay", "TimeKeepsMark", "ProcessesShareMarks",
			"RefusalIsDefinite", "DoneContextDoesNothing",
			"EndingContextLeavesNoHalf", "ReadRaisesMark", "UnknownModeRefused", "ScopesAreApartForAll", "KeyHasNoMark",
			"SharedClaimsShare", "StaleSharedRefused", "SharedRaisesMark", "SharedMarkStays",
			"SharedMarkIsNoExclusiveOne", "RestartKeepsBothMarks", "ProcessesShareBothMarks",
			"RefusalNamesTheMode", "EveryRefusalNamesBothTokens",
		}},
		{"scopes with a NUL", func(_ string, c fence.Claim) bool { return strings.Contains(c.Scope, "\x00") }, []string{"RestartKeepsScopesApart", "OddScopesAreApart", "ScopesAreApartForAll"}},
	} {
		s := subject(func() fencetest.Store { return cannot{newCorrect(), tt.such} })
		s.Idle = time.Millisecond
		var left []string
		for _, law := range fencetest.Laws {
			err := law.Check(t.Context(), s)
			switch {
			case errors.Is(err, fencetest.ErrNotApplicable):
				left = append(left, law.Name)
			case err != nil:
				t.Errorf("without %s: %s: %v", tt.name, law.Name, err)
			}
			if slices.Contains(oneByOne, law.Name) && err != nil && err.Error() != errCannot.Error() {
				t.Errorf("without %s: %s says %q, want %q", tt.name, law.Name, err, errCannot)
			}
		}
		if !slices.Equal(left, tt.want) {
			t.Errorf("without %s: left out %q, want %q", tt.name, left, tt.want)
		}
	}
}

// TestUnknownModeThatCannotBeAsked: UnknownModeRefused is left out also where any refusal will do,
// as the store knows no shared claims.
func TestUnknownModeThatCannotBeAsked(t *testing.T) {
	s := subject(func() fencetest.Store {
		return cannot{newCorrect(), func(_ string, c fence.Claim) bool { return c.Mode != fence.Exclusive }}
	})
	s.NoShared = true
	if err := lawNamed("UnknownModeRefused").Check(t.Context(), s); !errors.Is(err, fencetest.ErrNotApplicable) {
		t.Errorf("got %v, want it left out", err)
	}
}

// busy is a store that wants each third request again.
type busy struct {
	*correct
	requests atomic.Int64
}

var errBusy = errors.New("serialization failure")

func (s *busy) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if s.requests.Add(1)%3 == 0 {
		return errBusy
	}
	return s.correct.Write(ctx, c, key, value)
}

// TestAgain: an error that says "try again" is no broken law, where the store says
// which one it is.
func TestAgain(t *testing.T) {
	s := subject(func() fencetest.Store { return &busy{correct: newCorrect()} })
	broken := func() (names []string) {
		for _, law := range fencetest.Laws {
			synctest.Test(t, func(t *testing.T) {
				if law.Check(t.Context(), s) != nil {
					names = append(names, law.Name)
				}
			})
		}
		return names
	}
	if len(broken()) == 0 {
		t.Error("nothing is broken, though nobody says what the error means")
	}
	s.Again = func(err error) bool {
		if err == nil {
			t.Error("what is asked about is no error")
		}
		return errors.Is(err, errBusy)
	}
	if names := broken(); names != nil {
		t.Errorf("broken: %q", names)
	}
	s.Again = func(error) bool { return true }
	s.Open = func(context.Context) (fencetest.Store, error) {
		return writes{newCorrect(), func(*correct, fence.Claim, string, string) error { return errBusy }}, nil
	}
	if err := fencetest.Laws[0].Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "attempts: serialization failure") {
		t.Errorf("a store that never does it: %v", err)
	}
}

// TestWhatIsAdmittedIsTold: a law says in words that a store does what it must refuse.
func TestWhatIsAdmittedIsTold(t *testing.T) {
	s := subject(func() fencetest.Store {
		return writes{newCorrect(), func(*correct, fence.Claim, string, string) error { return nil }}
	})
	for law, want := range map[string]string{
		"StaleWriteRefused":   "write lock-a=stale with token 33 in the scope lock-a: was admitted, want refusal",
		"MissingTokenRefused": "write lock-a=first of all with no token in the scope lock-a: was admitted, want refusal",
		"SequenceOrders":      "write lock-a=late retry of the second with token 33 in the scope lock-a, sequence 2: was admitted, want refusal",
		"StaleSharedRefused":  "write lock-a=stale with token 33 in the scope lock-a, shared: was admitted, want refusal",
	} {
		if err := lawNamed(law).Check(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", law, err, want)
		}
	}
}

// lawNamed is a law by its name.
func lawNamed(name string) fencetest.Law {
	return fencetest.Laws[slices.IndexFunc(fencetest.Laws, func(l fencetest.Law) bool { return l.Name == name })]
}

// TestFailuresAreToldInFull: a law says what it asked before, when, and in which scope, whose name is quoted where something
// of it would not be seen.
func TestFailuresAreToldInFull(t *testing.T) {
	fails := func(law string, at int) string {
		_, err := tell(t, lawNamed(law), &lies{at: at, fail: true})
		return fmt.Sprint(err)
	}
	if got := fails("EndingContextLeavesNoHalf", 2); !strings.Contains(got, "whose context ended meanwhile") {
		t.Errorf("of a context that ends: %s", got)
	}
	if got, want := fails("UnknownModeRefused", 2), "after write lock-a with token 36"; !strings.HasPrefix(got, want) {
		t.Errorf("of an unknown mode: got %s, want %s", got, want)
	}
	const before = "the requests before it: "
	if first, second := fails("RequestsInAnyOrder", 0), fails("RequestsInAnyOrder", 1); strings.Contains(first, before) || !strings.Contains(second, before) {
		t.Errorf("the first request failed: %s\nThe second one: %s", first, second)
	}
	says := func(law, want string, s fencetest.Store) {
		err := lawNamed(law).Check(t.Context(), subject(func() fencetest.Store { return s }))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", law, err, want)
		}
	}
	deaf := newByHand(rule)
	deaf.deafReads = true
	says("StaleReadRefused", "read lock-a with token 33 in the scope lock-a: was admitted, want refusal", deaf)
	for scope, name := range map[string]string{"lock": "lock", "a b": "a b", "lock ": `"lock "`, "lock\x00": `"lock\x00"`, "": `""`} {
		store := newByHand(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
			if c.Scope == scope {
				return m, nil
			}
			return rule(m, c)
		})
		law := "OddScopesAreApart"
		if scope == "a b" {
			law = "ScopesAreNotConfused"
		}
		says(law, "in the scope "+name+": was admitted", store)
	}
}

func TestSubjectSaysWhatItIs(t *testing.T) {
	whole := subject(nil)
	whole.Again = func(error) bool { return false }
	for _, tt := range []struct {
		subject fencetest.Subject
		want    string
	}{
		{whole, "outlives its process, several processes, knows a bound, operations can fail half done, sequence numbers, shared claims, refusals that name the mark, may want a request again"},
		{fencetest.Subject{NoSequence: true, NoShared: true, Terse: true}, "goes with its process, one process, knows no bound, operations do not fail half done, no sequence numbers, no shared claims, refusals that name no mark, wants no request again"},
	} {
		if got := tt.subject.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
