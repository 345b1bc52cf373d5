package fencetest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// kind is a kind of request.
type kind struct {
	op   string
	mode fence.Mode
}

// sideBySide is a store in which requests of two kinds go side by side, and exclude all others. Those of the first kind, one
// at a time if the second one is another, are checked, and done afterwards, also to the mark.
type sideBySide struct {
	*byHand
	kinds     [2]kind
	where     func(claimed) bool // nil: everywhere
	processes bool               // only where one of them comes from another process
	rw        *sync.RWMutex
	one       *sync.Mutex    // for a request of the first kind
	own       *sync.Mutex    // of the process
	claims    map[string]int // by scope
}

// claimed is a request that comes to a scope.
type claimed struct {
	fence.Claim
	mark   fence.Mark // of the scope
	claims int        // that have come to it
}

func isFirst(r claimed) bool { return r.mark == fence.Mark{} }
func isBusy(r claimed) bool  { return much(r.claims) }
func raises(r claimed) bool  { return r.Token > r.mark.Token }

// only has such requests alone go side by side.
func only(where func(claimed) bool) func(*sideBySide) {
	return func(s *sideBySide) { s.where = where }
}

// processesOnly has such requests alone go side by side, and only where one of them comes from another process.
func processesOnly(where func(claimed) bool) func(*sideBySide) {
	return func(s *sideBySide) { s.where, s.processes = where, true }
}

func newSideBySide(first, second kind, change func(*sideBySide)) func() fencetest.Store {
	return func() fencetest.Store {
		s := sideBySide{byHand: newByHand(rule), kinds: [2]kind{first, second}, rw: new(sync.RWMutex), one: new(sync.Mutex), own: new(sync.Mutex), claims: make(map[string]int)}
		if change != nil {
			change(&s)
		}
		return s
	}
}

func (s sideBySide) beside() fencetest.Store {
	if s.processes {
		s.own = new(sync.Mutex)
	}
	return s
}

// look is the mark of a claim's scope, and whether such claims go side by side.
func (s sideBySide) look(c fence.Claim) (m fence.Mark, together bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m = s.marks[c.Scope]
	s.claims[c.Scope]++
	return m, s.where == nil || s.where(claimed{c, m, s.claims[c.Scope]})
}

func (s sideBySide) do(op string, c fence.Claim, key string, f func()) error {
	if s.processes {
		s.own.Lock()
		defer s.own.Unlock()
	}
	is := kind{op, c.Mode}
	if _, together := s.look(c); !together || is != s.kinds[0] && is != s.kinds[1] {
		s.rw.Lock()
		defer s.rw.Unlock()
		return s.byHand.do(op, c, key, f)
	}
	s.rw.RLock()
	defer s.rw.RUnlock()
	if is != s.kinds[0] {
		return s.byHand.do(op, c, key, f)
	}
	if s.kinds[0] != s.kinds[1] {
		s.one.Lock()
		defer s.one.Unlock()
	}
	m, _ := s.look(c)
	next, err := m.Admit(c)
	if err != nil {
		return err
	}
	gap()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks[c.Scope] = next.Done(c)
	s.durable[c.Scope] = s.marks[c.Scope]
	f()
	return nil
}

func (s sideBySide) Write(_ context.Context, c fence.Claim, key, value string) error {
	return s.do(write, c, key, func() { s.data[key] = value })
}

func (s sideBySide) Delete(_ context.Context, c fence.Claim, key string) error {
	return s.do(remove, c, key, func() { delete(s.data, key) })
}

func (s sideBySide) Read(ctx context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	if c.Token == 0 {
		return s.byHand.Read(ctx, c, key)
	}
	err = s.do(read, c, key, func() { v, ok = s.data[key] })
	return v, ok, err
}

// crowded is a correct store that leaves requests to a broken one on the same data where many are at work in it.
type crowded struct {
	*correct
	broken fencetest.Store
	atWork atomic.Int32
}

func newCrowded(broken func(*correct) fencetest.Store) func() fencetest.Store {
	return func() fencetest.Store { s := newCorrect(); return &crowded{correct: s, broken: broken(s)} }
}

// of is the store for a request, which says when it is over.
func (s *crowded) of() (of fencetest.Store, over func()) {
	n := s.atWork.Add(1)
	time.Sleep(time.Millisecond) // a request takes this long, so that those that come at once are at work at once
	over = func() { s.atWork.Add(-1) }
	if n > 8 {
		return s.broken, over
	}
	return s.correct, over
}

func (s *crowded) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, over := s.of()
	defer over()
	return s.correct.Write(ctx, c, key, value)
}

func (s *crowded) Delete(ctx context.Context, c fence.Claim, key string) error {
	of, over := s.of()
	defer over()
	return of.Delete(ctx, c, key)
}

func (s *crowded) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token == 0 {
		return s.correct.Read(ctx, c, key)
	}
	of, over := s.of()
	defer over()
	return of.Read(ctx, c, key)
}

// slowDeletes is a store whose deletes are checked, and done a while later.
type slowDeletes struct{ *correct }

func (s slowDeletes) Delete(ctx context.Context, c fence.Claim, key string) error {
	err := s.register.Do(ctx, c, nothing)
	time.Sleep(time.Millisecond)
	if err == nil {
		s.unset(key)
	}
	return err
}

// slowReads is a store whose reads are checked, and look a while later.
type slowReads struct{ *correct }

func (s slowReads) Read(ctx context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	err = s.register.Do(ctx, c, nothing)
	time.Sleep(time.Millisecond)
	if err == nil {
		v, ok = s.get(key)
	}
	return v, ok, err
}

// overtaken is a store that refuses a request as stale, after it has done it, if a later tenure has begun meanwhile.
type overtaken struct {
	*correct
	op string
}

func (s overtaken) after(op string, c fence.Claim, err error) error {
	if err != nil || op != s.op || c.Mode != fence.Exclusive {
		return err
	}
	gap()
	if m := s.register.Mark(c.Scope).Token; m > c.Token {
		return &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m}
	}
	return nil
}

func (s overtaken) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.after(write, c, s.correct.Write(ctx, c, key, value))
}

func (s overtaken) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.after(remove, c, s.correct.Delete(ctx, c, key))
}

// crowdOf is a store that is wrong about writes of a crowd alone.
type crowdOf struct {
	*byHand
	in   func(*crowdOf, fence.Claim, string, string) error // does one of the last ones
	over func(*crowdOf, string)                            // comes after all of them

	atWork atomic.Int32
	many   atomic.Bool
	put    func() // off, until all are done
}

func (s *crowdOf) Write(ctx context.Context, c fence.Claim, key, value string) (err error) {
	last := s.atWork.Add(1) > 24
	time.Sleep(time.Millisecond) // as in crowded
	if last {
		s.many.Store(true)
	}
	if last && s.in != nil {
		err = s.in(s, c, key, value)
	} else {
		err = s.byHand.Write(ctx, c, key, value)
	}
	if s.atWork.Add(-1) == 0 && s.many.Swap(false) {
		s.over(s, c.Scope)
	}
	return err
}

// fallsBack leaves the mark lower than it was.
func fallsBack(s *crowdOf, scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.marks[scope]
	m.Token--
	s.marks[scope] = m
}

// saysStale does a write, and says that it was refused.
func saysStale(s *crowdOf, c fence.Claim, key, value string) error {
	if err := s.byHand.Write(context.Background(), c, key, value); err != nil {
		return err
	}
	return &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: c.Token + 1}
}

// putsOff checks a write, and leaves what it does for later.
func putsOff(s *crowdOf, c fence.Claim, key, value string) error {
	return s.do(write, c, key, func() {
		s.put = func() {
			if s.marks[c.Scope].Token == c.Token { // else a later one has been done
				s.data[key] = value
			}
		}
	})
}

// catchesUp does what was put off.
func catchesUp(s *crowdOf, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put != nil {
		s.put()
		s.put = nil
	}
}

// prepares is a store that does prepared writes in two steps, once a whole crowd of them was under way.
type prepares struct {
	*correct
	under int
	full  bool
}

// count adds to how many writes are under way, and reports whether the crowd was whole.
func (s *prepares) count(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under += n
	s.full = s.under == 32 || s.full && s.under > 0
	return s.full
}

func (s *prepares) prepare(ctx context.Context, c fence.Claim, key, value string) func() error {
	s.count(1)
	gap()
	return func() error {
		defer s.count(-1)
		if s.count(0) {
			return twoSteps{s.correct, write}.Write(ctx, c, key, value)
		}
		return s.correct.Write(ctx, c, key, value)
	}
}

func brokenRaces() []broken {
	firstOnly, busy, processes := only(isFirst), only(isBusy), processesOnly(nil)
	shared := func(op string) kind { return kind{op, fence.Shared} }
	own := func(op string) kind { return kind{op, fence.Exclusive} }
	var list []broken
	for _, p := range [][2]kind{ // the one that is checked before, and done after the other one
		{own(write), own(read)}, {own(write), own(remove)}, {own(remove), own(write)}, {own(remove), own(read)},
		{own(read), own(write)}, {own(read), own(remove)}, {own(read), own(read)}, {own(remove), own(remove)},
	} {
		list = append(list, broken{
			name:   fmt.Sprintf("between the check of the first %s of a scope and itself a %s comes", p[0].op, p[1].op),
			open:   newSideBySide(p[0], p[1], firstOnly),
			change: alone,
			caught: []string{"FirstClaimsOfAllAreOneStep"},
		}, broken{
			name:    fmt.Sprintf("between the check of a %s and itself a %s of another process comes", p[0].op, p[1].op),
			open:    newSideBySide(p[0], p[1], processes),
			caught:  []string{"ProcessesShareEveryStep"},
			perhaps: []string{"ProcessesShareEveryScopeStep", "ProcessesShareTheSequenceStep"},
		})
	}
	for _, p := range [][2]kind{
		{own(write), shared(read)}, {shared(write), own(write)}, {shared(read), own(write)}, {own(remove), shared(read)},
		{shared(remove), own(write)}, {own(write), shared(write)}, {own(write), shared(remove)},
	} {
		list = append(list, broken{
			name:    fmt.Sprintf("between the check of a %s (%v) and itself a %s (%v) comes", p[0].op, p[0].mode, p[1].op, p[1].mode),
			open:    newSideBySide(p[0], p[1], nil),
			change:  alone,
			caught:  []string{"SharedIsOneStep"},
			perhaps: []string{"FirstSharedClaimsAreOneStep"},
		}, broken{
			name:   fmt.Sprintf("between the check of a %s (%v) and itself a %s (%v) of another process comes", p[0].op, p[0].mode, p[1].op, p[1].mode),
			open:   newSideBySide(p[0], p[1], processes),
			caught: []string{"ProcessesShareTheSharedStep"},
		})
	}
	return append(list, []broken{
		{
			name:   "in a scope that is busy deletes go side by side, and the last one leaves its mark",
			open:   newSideBySide(own(remove), own(remove), busy),
			change: alone,
			caught: []string{"CheckAndDeleteAreOneStep"},
		},
		{
			name:   "in a scope that is busy reads go side by side, and the last one leaves its mark",
			open:   newSideBySide(own(read), own(read), busy),
			change: alone,
			caught: []string{"CheckAndOlderReadAreOneStep"},
		},
		{
			name:   "in a scope that is busy a write is checked, and a read comes before it is done",
			open:   newSideBySide(own(write), own(read), busy),
			change: alone,
			caught: []string{"CheckAndReadAreOneStep"},
		},
		{
			name:    "in a scope that is busy a delete is checked, and a write comes before it is done",
			open:    newSideBySide(own(remove), own(write), busy),
			change:  alone,
			caught:  []string{"CheckAndDeleteAreOneStep", "ScopeIsOneStep"},
			perhaps: []string{"CrowdOfAllIsOneStep", "SequenceIsOneStep"},
		},
		{
			name:    "in a scope that is busy a read is checked, and a write comes before it is done",
			open:    newSideBySide(own(read), own(write), busy),
			change:  alone,
			caught:  []string{"CheckAndOlderReadAreOneStep"},
			perhaps: []string{"CrowdOfAllIsOneStep"},
		},
		{
			name:   "deletes go side by side, and the last one leaves its mark",
			open:   newSideBySide(own(remove), own(remove), nil),
			caught: []string{"CheckAndDeleteAreOneStep", "FirstClaimsOfAllAreOneStep", "ProcessesShareEveryStep"},
		},
		{
			name:   "a delete is checked, and a read comes before it is done",
			open:   newSideBySide(own(remove), own(read), nil),
			caught: []string{"CheckAndDeleteAreOneStep", "FirstClaimsOfAllAreOneStep", "ProcessesShareEveryStep"},
		},
		{
			name:   "the first reads of a scope go side by side, and the last one leaves its mark",
			open:   newSideBySide(own(read), own(read), firstOnly),
			caught: []string{"FirstClaimsOfAllAreOneStep"},
		},
		{
			name:   "a shared delete is checked, and a write comes before it is done",
			open:   newSideBySide(shared(remove), own(write), nil),
			caught: []string{"FirstSharedClaimsAreOneStep", "ProcessesShareTheSharedStep", "SharedIsOneStep"},
		},
		{
			name:   "a write is checked, and a shared write comes before it is done",
			open:   newSideBySide(own(write), shared(write), nil),
			caught: []string{"ProcessesShareTheSharedStep", "SharedIsOneStep"},
		},
		{
			name:   "the first shared write of a scope is checked, and a write comes before it is done",
			open:   newSideBySide(shared(write), own(write), firstOnly),
			caught: []string{"FirstSharedClaimsAreOneStep"},
		},
		{
			name:   "the first shared read of a scope is checked, and a write comes before it is done",
			open:   newSideBySide(shared(read), own(write), firstOnly),
			caught: []string{"FirstSharedClaimsAreOneStep"},
		},
		{
			name:   "first writes of a scope by two processes go side by side",
			open:   newSideBySide(own(write), own(write), processesOnly(isFirst)),
			change: func(s *fencetest.Subject) { s.NoSequence = true },
			caught: []string{"ProcessesShareEveryScopeStep"},
		},
		{
			name:   "writes that raise the mark go side by side",
			open:   newSideBySide(own(write), own(write), only(raises)),
			change: alone,
			caught: []string{"CheckAndWriteAreOneStep", "CrowdIsOneStep", "FirstClaimsAreOneStep", "ScopeIsOneStep"},
		},
		{
			name:   "a read that raises the mark is checked, and a write comes before it is done",
			open:   newSideBySide(own(read), own(write), only(raises)),
			change: alone,
			caught: []string{"CheckAndOlderReadAreOneStep", "CrowdOfAllIsOneStep", "FirstClaimsOfAllAreOneStep"},
		},
		{
			name:   "writes of two processes that raise the mark go side by side",
			open:   newSideBySide(own(write), own(write), processesOnly(raises)),
			caught: []string{"ProcessesShareEveryScopeStep", "ProcessesShareTheStep"},
		},
		{
			name:   "deletes of two processes go side by side",
			open:   newSideBySide(own(remove), own(remove), processes),
			caught: []string{"ProcessesShareEveryStep"},
		},
		{
			name:   "a process checks the first delete of a scope, and another one writes before it is done",
			open:   newSideBySide(own(remove), own(write), processesOnly(isFirst)),
			caught: []string{"ProcessesShareEveryScopeStep"},
		},
		{
			name:   "a process checks a shared delete, and another one writes before it is done",
			open:   newSideBySide(shared(remove), own(write), processes),
			caught: []string{"ProcessesShareTheSharedStep"},
		},
		{
			name:   "deletes are checked first, and done afterwards, where many are at work",
			open:   newCrowded(func(s *correct) fencetest.Store { return slowDeletes{s} }),
			caught: []string{"CrowdOfAllIsOneStep"},
		},
		{
			name:   "reads are checked first, and look afterwards, where many are at work",
			open:   newCrowded(func(s *correct) fencetest.Store { return slowReads{s} }),
			caught: []string{"CrowdOfAllIsOneStep"},
		},
		{
			name:   "a mark falls back when a crowd of writes is done",
			open:   func() fencetest.Store { return &crowdOf{byHand: newByHand(rule), over: fallsBack} },
			caught: []string{"CrowdIsOneStep", "ManyMarksStay"},
		},
		{
			name: "the last ones of a crowd of writes are done, and refused",
			open: func() fencetest.Store {
				return &crowdOf{byHand: newByHand(rule), in: saysStale, over: func(*crowdOf, string) {}}
			},
			caught: []string{"CrowdIsOneStep", "ManyMarksStay", "RestartKeepsManyMarks"},
		},
		{
			name:   "the last ones of a crowd of writes are acknowledged first, and done when all are",
			open:   func() fencetest.Store { return &crowdOf{byHand: newByHand(rule), in: putsOff, over: catchesUp} },
			caught: []string{"CrowdIsOneStep"},
		},
		{
			name: "prepared writes are in two steps, where all of a crowd are under way",
			open: func() fencetest.Store { return &prepares{correct: newCorrect()} },
			change: func(s *fencetest.Subject) {
				s.Prepare = func(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) (func() error, error) {
					return s.(*prepares).prepare(ctx, c, key, value), nil
				}
			},
			caught: []string{"CrowdIsOneStep"},
		},
		{
			name: "a write is done, and refused, as a later tenure has begun meanwhile",
			open: func() fencetest.Store { return overtaken{newCorrect(), write} },
			caught: []string{
				"CheckAndReadAreOneStep", "FirstClaimsOfAllAreOneStep", "ProcessesShareEveryScopeStep",
				"ProcessesShareEveryStep", "ScopeIsOneStep",
			},
		},
		{
			name:   "a delete is done, and refused, as a later tenure has begun meanwhile",
			open:   func() fencetest.Store { return overtaken{newCorrect(), remove} },
			caught: []string{"CheckAndDeleteAreOneStep", "ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ScopeIsOneStep"},
		},
	}...)
}

func TestStoresBrokenInTheirRacesAreCaught(t *testing.T) {
	for _, tt := range brokenRaces() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
