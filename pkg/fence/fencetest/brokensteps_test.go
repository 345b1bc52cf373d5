package fencetest_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// guarded is one of some processes, each of which has a lock for all that it does. Between
// them there are the locks of the data.
type guarded struct {
	*locks
	own *sync.Mutex
}

func newGuarded(lock func(*locks, fence.Claim, string) *sync.Mutex) func() fencetest.Store {
	return func() fencetest.Store {
		return guarded{&locks{correct: newCorrect(), lock: lock}, new(sync.Mutex)}
	}
}

func (s guarded) beside() fencetest.Store { return guarded{s.locks, new(sync.Mutex)} }

func (s guarded) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.own.Lock()
	defer s.own.Unlock()
	return s.locks.Write(ctx, c, key, value)
}

func (s guarded) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.own.Lock()
	defer s.own.Unlock()
	return s.locks.Delete(ctx, c, key)
}

func (s guarded) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	s.own.Lock()
	defer s.own.Unlock()
	return s.locks.Read(ctx, c, key)
}

// numbersApart is a store that looks at a sequence number in a step of its own, and notes it
// in another one.
type numbersApart struct{ *byHand }

func (s numbersApart) numbered(c fence.Claim, do func(fence.Claim) error) error {
	if c.Sequence <= 0 || c.Mode != fence.Exclusive {
		return do(c)
	}
	s.mu.Lock()
	_, err := s.marks[c.Scope].Admit(c)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	gap()
	plain := c
	plain.Sequence = 0
	if err := do(plain); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.marks[c.Scope]; m.Token == c.Token {
		s.marks[c.Scope] = m.Done(c)
		s.durable[c.Scope] = s.marks[c.Scope]
	}
	return nil
}

func (s numbersApart) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.numbered(c, func(c fence.Claim) error { return s.byHand.Write(ctx, c, key, value) })
}

func (s numbersApart) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.numbered(c, func(c fence.Claim) error { return s.byHand.Delete(ctx, c, key) })
}

// openedForNumbers is a correct store whose second process has numbersApart.
type openedForNumbers struct{ *byHand }

func (s openedForNumbers) beside() fencetest.Store { return numbersApart(s) }

// numberedDeletes is a store with numbersApart in the deletes of its first process.
type numberedDeletes struct{ *byHand }

func (s numberedDeletes) Delete(ctx context.Context, c fence.Claim, key string) error {
	return numbersApart(s).Delete(ctx, c, key)
}

func (s numberedDeletes) beside() fencetest.Store { return s.byHand }

// together is a store of writes that end together.
type together struct {
	*byHand
	under atomic.Int32 // writes that are under way
}

// end ends a write when all have come to their end.
func (s *together) end() {
	for s.under.Add(-1); s.under.Load() > 0; {
		runtime.Gosched()
	}
}

// waitsForAll is a store that checks numbered writes first, does them afterwards, and acknowledges each when all that are under
// way are done.
type waitsForAll struct{ together }

func (s *waitsForAll) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if c.Sequence <= 0 || c.Mode != fence.Exclusive {
		return s.byHand.Write(ctx, c, key, value)
	}
	s.under.Add(1)
	err := s.do(write, c, key, func() {})
	gap()
	if err == nil {
		s.mu.Lock()
		s.data[key] = value
		s.mu.Unlock()
	}
	s.end()
	return err
}

// callsTwins is a store that says of the highest of some numbered writes at once that it was done before.
type callsTwins struct{ together }

func (s *callsTwins) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if c.Sequence <= 0 {
		return s.byHand.Write(ctx, c, key, value)
	}
	n := s.under.Add(1)
	gap()
	err := s.byHand.Write(ctx, c, key, value)
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && n > 1 && s.marks[c.Scope].Sequence == c.Sequence {
		return fence.ErrDuplicate
	}
	return err
}

// openedForShared is a correct store whose second process looks first, for shared reads, and
// checks afterwards.
type openedForShared struct{ *correct }

func (s openedForShared) beside() fencetest.Store {
	return sharedTwoSteps{twoSteps{s.correct, read}}
}

// readLocked is a store whose shared reads exclude everybody but each other.
type readLocked struct {
	*byHand
	rw sync.RWMutex
}

func (s *readLocked) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.rw.Lock()
	defer s.rw.Unlock()
	return s.byHand.Write(ctx, c, key, value)
}

func (s *readLocked) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.rw.Lock()
	defer s.rw.Unlock()
	return s.byHand.Delete(ctx, c, key)
}

func (s *readLocked) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token == 0 || c.Mode != fence.Shared {
		s.rw.Lock()
		defer s.rw.Unlock()
		return s.byHand.Read(ctx, c, key)
	}
	s.rw.RLock()
	defer s.rw.RUnlock()
	s.mu.Lock()
	next, err := s.marks[c.Scope].Admit(c)
	s.mu.Unlock()
	if err != nil {
		return "", false, err
	}
	gap()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks[c.Scope], s.durable[c.Scope] = next, next
	v, ok := s.data[key]
	return v, ok, nil
}

// parted is a correct store that leaves some requests to a broken one on the same data, by how many
// claims a scope has seen.
type parted struct {
	*correct
	broken fencetest.Store
	leaves func(seen int) bool
	mu     sync.Mutex
	seen   map[string]int
}

func newParted(leaves func(int) bool, broken func(*correct) fencetest.Store) func() fencetest.Store {
	return func() fencetest.Store {
		s := newCorrect()
		return &parted{correct: s, broken: broken(s), leaves: leaves, seen: make(map[string]int)}
	}
}

// first is the first claim of a scope, much are those of one with more claims than a race in a new scope has.
func first(seen int) bool { return seen < 1 }
func much(seen int) bool  { return seen > 20 }

func (s *parted) of(c fence.Claim) fencetest.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.seen[c.Scope]
	if c.Token != 0 {
		s.seen[c.Scope]++
	}
	if s.leaves(n) {
		return s.broken
	}
	return s.correct
}

func (s *parted) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.of(c).Write(ctx, c, key, value)
}

func (s *parted) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.of(c).Delete(ctx, c, key)
}

func (s *parted) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	return s.of(c).Read(ctx, c, key)
}

// twoWriters is a store in which the first writes of a scope are in two steps, and exclude all
// requests but each other.
type twoWriters struct {
	twoSteps
	rw    sync.RWMutex
	known sync.Map // scopes in which a write was done
}

func newTwoWriters() *twoWriters { return &twoWriters{twoSteps: twoSteps{newCorrect(), write}} }

func (s *twoWriters) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if _, known := s.known.Load(c.Scope); known {
		s.rw.Lock()
		defer s.rw.Unlock()
	} else {
		s.rw.RLock()
		defer s.rw.RUnlock()
	}
	defer s.known.Store(c.Scope, true)
	return s.twoSteps.Write(ctx, c, key, value)
}

func (s *twoWriters) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.rw.Lock()
	defer s.rw.Unlock()
	return s.twoSteps.Delete(ctx, c, key)
}

func (s *twoWriters) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		s.rw.Lock()
		defer s.rw.Unlock()
	}
	return s.twoSteps.Read(ctx, c, key)
}

// undoes is a store that deletes, then checks, and undoes what it must refuse.
type undoes struct {
	*byHand
	all sync.Mutex // but reads without a token
}

func (s *undoes) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.all.Lock()
	defer s.all.Unlock()
	return s.byHand.Write(ctx, c, key, value)
}

func (s *undoes) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.all.Lock()
	defer s.all.Unlock()
	s.mu.Lock()
	old, there := s.data[key]
	delete(s.data, key)
	s.mu.Unlock()
	gap()
	err := s.byHand.Delete(ctx, c, key)
	if err != nil && there {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.data[key] = old
	}
	return err
}

func (s *undoes) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		s.all.Lock()
		defer s.all.Unlock()
	}
	return s.byHand.Read(ctx, c, key)
}

// halves is a store that does a write in two parts, if the context is not done before each.
type halves struct{ *byHand }

func (s halves) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.marks[c.Scope].Admit(c)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.data[key] = value
	if err := ctx.Err(); err != nil {
		return err
	}
	s.marks[c.Scope] = next.Done(c)
	s.durable[c.Scope] = s.marks[c.Scope]
	return nil
}

// sure is a store that takes a context that is done for one that was done before.
type sure struct{ *byHand }

func (s sure) Write(ctx context.Context, c fence.Claim, key, value string) error {
	err := ctx.Err()
	if err == nil {
		if err := s.byHand.Write(ctx, c, key, value); err != nil {
			return err
		}
		err = ctx.Err()
	}
	if err != nil {
		return fence.Definite.Wrap(err)
	}
	return nil
}

// settles is a store that puts off a write if a later tenure was admitted between its check and
// itself, and does it when somebody reads what is there.
type settles struct {
	*correct
	writing sync.RWMutex // who reads waits for those who write
	putOff  map[string]string
}

func newSettles() fencetest.Store {
	return &settles{correct: newCorrect(), putOff: make(map[string]string)}
}

func (s *settles) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.writing.RLock()
	defer s.writing.RUnlock()
	if err := s.register.Do(ctx, c, nothing); err != nil {
		return err
	}
	gap()
	late := s.register.Mark(c.Scope).Token > c.Token
	s.mu.Lock()
	defer s.mu.Unlock()
	if late {
		s.putOff[key] = value
	} else {
		s.data[key] = value
	}
	return nil
}

func (s *settles) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if value, late := s.putOff[key]; late {
		delete(s.putOff, key)
		s.set(key, value)
	}
	return s.correct.Read(ctx, c, key)
}

// joined is a store that checks one write of a tenure, and does others of the same tenure that
// come meanwhile without a check of their own.
type joined struct {
	*correct
	under map[fence.Claim]int // writes that are under way
}

func newJoined() fencetest.Store {
	return joined{newCorrect(), make(map[fence.Claim]int)}
}

// count adds to how many writes of a tenure are under way, and returns how many there were.
func (s joined) count(c fence.Claim, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under[c] += n
	return s.under[c] - n
}

func (s joined) Write(ctx context.Context, c fence.Claim, key, value string) error {
	others := s.count(c, 1)
	defer s.count(c, -1)
	gap()
	if others == 0 || c.Sequence > 0 {
		return s.correct.Write(ctx, c, key, value)
	}
	s.set(key, value)
	return nil
}

func brokenSteps() []broken {
	return []broken{
		{
			name:   "the first read of a scope looks first, and is checked afterwards",
			open:   newParted(first, func(s *correct) fencetest.Store { return twoSteps{s, read} }),
			caught: []string{"FirstClaimsOfAllAreOneStep", "FirstSharedClaimsAreOneStep", "ProcessesShareEveryScopeStep"},
		},
		{
			name: "the first delete of a scope is checked first, and done afterwards",
			open: newParted(first, func(s *correct) fencetest.Store { return twoSteps{s, remove} }),
			caught: []string{
				"FirstClaimsOfAllAreOneStep", "FirstSharedClaimsAreOneStep", "ProcessesShareEveryScopeStep",
			},
		},
		{
			name:   "in a scope that is busy a read looks first, and is checked afterwards",
			open:   newParted(much, func(s *correct) fencetest.Store { return twoSteps{s, read} }),
			change: func(s *fencetest.Subject) { s.Second, s.NoShared, s.NoSequence = nil, true, true },
			caught: []string{"CheckAndDeleteAreOneStep", "CheckAndReadAreOneStep"},
		},
		{
			name:   "in a scope that is busy a read is checked first, and looks afterwards",
			open:   newParted(much, func(s *correct) fencetest.Store { return looksLate{s} }),
			change: func(s *fencetest.Subject) { s.Second, s.NoShared, s.NoSequence = nil, true, true },
			caught: []string{"CheckAndOlderReadAreOneStep", "CrowdOfAllIsOneStep"},
		},
		{
			name:   "in a scope that is busy a delete is checked first, and done afterwards",
			open:   newParted(much, func(s *correct) fencetest.Store { return twoSteps{s, remove} }),
			change: func(s *fencetest.Subject) { s.Second, s.NoShared, s.NoSequence = nil, true, true },
			caught: []string{"CheckAndDeleteAreOneStep", "CrowdOfAllIsOneStep", "ScopeIsOneStep"},
		},
		{
			name:   "the first writes of a scope exclude all requests but each other",
			open:   func() fencetest.Store { return newTwoWriters() },
			change: func(s *fencetest.Subject) { s.Second, s.NoShared, s.NoSequence = nil, true, true },
			caught: []string{"FirstClaimsAreOneStep"},
		},
		{
			name:   "two processes lock the rows that are there, and so no first claim",
			open:   newGuarded(lateLock),
			change: func(s *fencetest.Subject) { s.NoSequence = true },
			caught: []string{"ProcessesShareEveryScopeStep", "ProcessesShareTheSharedStep"},
		},
		{
			name:   "two processes have a lock for each key, and a mark for each scope",
			open:   newGuarded(lockOfKey),
			caught: []string{"ProcessesShareEveryScopeStep"},
		},
		{
			name:   "a write that a later tenure has overtaken is done at the next read",
			open:   newSettles,
			change: alone,
			caught: []string{
				"CheckAndDeleteAreOneStep", "CheckAndWriteAreOneStep", "FirstClaimsAreOneStep",
				"FirstClaimsOfAllAreOneStep", "FirstSharedClaimsAreOneStep", "SharedIsOneStep",
			},
			perhaps: []string{"CrowdIsOneStep", "SequenceIsOneStep"},
		},
		{
			name:    "of writes of one tenure that come together only the first one is checked",
			open:    newJoined,
			change:  alone,
			caught:  []string{"CheckAndWriteAreOneStep", "CrowdIsOneStep"},
			perhaps: []string{"RefusedWriteIsNeverSeen"},
		},
		{
			name:   "sequence numbers are checked in a step of their own",
			open:   func() fencetest.Store { return numbersApart{newByHand(rule)} },
			change: alone,
			caught: []string{"SequenceIsOneStep"},
		},
		{
			name:   "a second process checks sequence numbers in a step of their own",
			open:   func() fencetest.Store { return openedForNumbers{newByHand(rule)} },
			caught: []string{"ProcessesShareTheSequenceStep"},
		},
		{
			name:   "the first process checks sequence numbers of deletes in a step of their own",
			open:   func() fencetest.Store { return numberedDeletes{newByHand(rule)} },
			caught: []string{"ProcessesShareTheSequenceStep", "SequenceIsOneStep"},
		},
		{
			name:   "numbered writes are checked first, done afterwards, and acknowledged when all are done",
			open:   func() fencetest.Store { return &waitsForAll{together{byHand: newByHand(rule)}} },
			change: alone,
			caught: []string{"SequenceIsOneStep"},
		},
		{
			name:   "of numbered writes at once the highest is said to be a duplicate",
			open:   func() fencetest.Store { return &callsTwins{together{byHand: newByHand(rule)}} },
			change: alone,
			caught: []string{"ManyMarksStay", "SequenceIsOneStep"},
		},
		{
			name:   "a second process looks first, for shared reads, and checks afterwards",
			open:   func() fencetest.Store { return openedForShared{newCorrect()} },
			caught: []string{"ProcessesShareTheSharedStep"},
		},
		{
			name:   "of two shared reads at once the last one leaves its mark",
			open:   func() fencetest.Store { return &readLocked{byHand: newByHand(rule)} },
			change: alone,
			caught: []string{"FirstSharedClaimsAreOneStep", "SharedIsOneStep"},
		},
		{
			name:   "a delete is done, checked, and undone",
			open:   func() fencetest.Store { return &undoes{byHand: newByHand(rule)} },
			change: func(s *fencetest.Subject) { s.NoSequence = true },
			caught: []string{"RefusedWriteIsNeverSeen"},
		},
		{
			name:   "a context that ends between data and mark leaves the data",
			open:   func() fencetest.Store { return halves{newByHand(rule)} },
			caught: []string{"EndingContextLeavesNoHalf"},
		},
		{
			name:   "what a context that ends has not prevented is said not to be done",
			open:   func() fencetest.Store { return sure{newByHand(rule)} },
			caught: []string{"EndingContextLeavesNoHalf"},
		},
	}
}

func TestStoresBrokenInTheirStepsAreCaught(t *testing.T) {
	for _, tt := range brokenSteps() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
