package fencetest_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// looksLate is a store whose reads are checked, and look afterwards.
type looksLate struct{ *correct }

func (s looksLate) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		if err := s.register.Do(ctx, c, nothing); err != nil {
			return "", false, err
		}
		gap()
	}
	v, ok := s.get(key)
	return v, ok, nil
}

// overrun is a store whose check and write are one step while no more than some are at
// work in it.
type overrun struct {
	*correct
	atWork atomic.Int32
}

func (s *overrun) Write(ctx context.Context, c fence.Claim, key, value string) error {
	defer s.atWork.Add(-1)
	if s.atWork.Add(1) <= 8 {
		return s.register.Do(ctx, c, func(context.Context) error { gap(); s.set(key, value); return nil })
	}
	return twoSteps{s.correct, write}.Write(ctx, c, key, value)
}

// lags is a store whose first read, after many have written at once, is answered with what was
// there before them.
type lags struct {
	*correct
	atWork atomic.Int32
	before atomic.Pointer[string]
}

func (s *lags) Write(ctx context.Context, c fence.Claim, key, value string) error {
	defer s.atWork.Add(-1)
	if s.atWork.Add(1) == 9 {
		v, _ := s.get(key)
		s.before.Store(&v)
	}
	time.Sleep(time.Millisecond) // a write takes this long, so that those that come at once are at work at once
	return s.correct.Write(ctx, c, key, value)
}

func (s *lags) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if v := s.before.Swap(nil); v != nil {
		return *v, true, nil
	}
	return s.correct.Read(ctx, c, key)
}

// lull is a store with a gap between check and write while few are at work, and only
// writes have come to one key, many of them.
type lull struct {
	*correct
	atWork, writes atomic.Int32
	others         atomic.Bool
}

func (s *lull) Write(ctx context.Context, c fence.Claim, key, value string) error {
	defer s.atWork.Add(-1)
	if s.atWork.Add(1) > 4 || key != "lock-a" {
		s.others.Store(true)
	}
	gap()
	if s.writes.Add(1) < 50 || s.others.Load() {
		return s.correct.Write(ctx, c, key, value)
	}
	return twoSteps{s.correct, write}.Write(ctx, c, key, value)
}

func (s *lull) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.others.Store(true)
	return s.correct.Delete(ctx, c, key)
}

func (s *lull) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		s.others.Store(true)
	}
	return s.correct.Read(ctx, c, key)
}

// lullBeside is a correct store that a second process has opened with a lull.
type lullBeside struct{ *correct }

func (s lullBeside) beside() fencetest.Store { return &lull{correct: s.correct} }

// openedForDeletes is a correct store that a second process has opened with a gap
// between check and delete.
type openedForDeletes struct{ *correct }

func (s openedForDeletes) beside() fencetest.Store { return apart{twoSteps{s.correct, remove}} }

// resetsSequence is a store whose second process begins the sequence anew with a request without a number.
type resetsSequence struct{ *byHand }

func (s resetsSequence) beside() fencetest.Store { return resetsSequenceBeside(s) }

type resetsSequenceBeside struct{ *byHand }

func (s resetsSequenceBeside) anew(c fence.Claim, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.marks[c.Scope]; err == nil && c.Token > 0 && c.Sequence == 0 {
		s.marks[c.Scope] = fence.Mark{Token: m.Token, Shared: m.Shared}
	}
	return err
}

func (s resetsSequenceBeside) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.anew(c, s.byHand.Write(ctx, c, key, value))
}

func (s resetsSequenceBeside) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.anew(c, s.byHand.Delete(ctx, c, key))
}

// deletesAlone is a store whose second process keeps the marks of its reads and deletes
// to itself.
type deletesAlone struct{ *byHand }

func (s deletesAlone) beside() fencetest.Store {
	return deletesAloneBeside{s.byHand, newByHand(rule)}
}

type deletesAloneBeside struct{ data, own *byHand }

func (s deletesAloneBeside) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if err := s.own.Write(ctx, c, key, value); err != nil {
		return err
	}
	return s.data.Write(ctx, c, key, value)
}

func (s deletesAloneBeside) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.data.mu.Lock()
	m := s.data.marks[c.Scope]
	s.data.mu.Unlock()
	if _, err := m.Admit(c); err != nil {
		return err
	}
	if err := s.own.Delete(ctx, c, key); err != nil {
		return err
	}
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	delete(s.data.data, key)
	return nil
}

func (s deletesAloneBeside) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		if _, _, err := s.own.Read(ctx, c, key); err != nil {
			return "", false, err
		}
	}
	return s.data.Read(ctx, c, key)
}

// tells is a store that returns what it has read also where it refuses the read.
type tells struct{ *correct }

func (s tells) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	v, ok, err := s.correct.Read(ctx, c, key)
	if err != nil {
		v, ok = s.get(key)
	}
	return v, ok, err
}

// deaf is a store that does what it is asked for, and looks at the context then.
type deaf struct{ *byHand }

func (s deaf) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if err := s.byHand.Write(ctx, c, key, value); err != nil {
		return err
	}
	return ctx.Err()
}

// sleepy is a store that does nothing where the context is done, and does not say so.
type sleepy struct{ *byHand }

func (s sleepy) Delete(ctx context.Context, c fence.Claim, key string) error {
	if ctx.Err() != nil {
		return nil
	}
	return s.byHand.Delete(ctx, c, key)
}

// threeLives is a store whose marks outlive two restarts.
type threeLives struct {
	*byHand
	restarts int
}

func (s threeLives) crash() fencetest.Store {
	s.byHand.crash()
	if s.restarts++; s.restarts == 3 {
		clear(s.marks)
	}
	return s
}

// forgetsDeletes is a store that keeps the sequence numbers of deletes in memory only.
type forgetsDeletes struct {
	*byHand
	lasting map[string]fence.Mark // by scope, without these numbers
}

func newForgetsDeletes() fencetest.Store {
	s := forgetsDeletes{newByHand(rule), make(map[string]fence.Mark)}
	s.keep = func(r request) fence.Mark {
		m := s.lasting[r.claim.Scope]
		if next, err := m.Admit(r.claim); err == nil && r.err == nil {
			if m = next; r.op == write {
				m = m.Done(r.claim)
			}
			s.lasting[r.claim.Scope] = m
		}
		return kept(r)
	}
	return s
}

func (s forgetsDeletes) crash() fencetest.Store {
	s.marks = maps.Clone(s.lasting)
	return s
}

// lastScope opens stores that keep the marks of a key's last scope alone, which is any that takes the key over.
func lastScope(takes func(c fence.Claim, was fence.Mark) bool) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		last := make(map[string]string)
		s.name = func(c fence.Claim, key string) string {
			was, is := last[key]
			if is && was != c.Scope && takes(c, s.marks[was]) {
				delete(s.marks, was)
				is = false
			}
			if !is {
				last[key] = c.Scope
			}
			return c.Scope
		}
		return s
	}
}

// freshlyUsed is a store whose marks end when nobody has used them for a while.
func freshlyUsed(while time.Duration) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		used := make(map[string]time.Time)
		s.take = func(_ string, c *fence.Claim) {
			if at, is := used[c.Scope]; is && time.Since(at) > while {
				delete(s.marks, c.Scope)
			}
			used[c.Scope] = time.Now()
		}
		return s
	}
}

// boundedAs opens stores with a bound by what they make of a claim.
func boundedAs(taken func(op string, c fence.Claim, m fence.Mark) fence.Claim) func(*fencetest.Subject) {
	return func(s *fencetest.Subject) {
		s.OpenBounded = func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			s := newByHand(nil)
			var op string
			s.take = func(kind string, _ *fence.Claim) { op = kind }
			s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if asked := taken(op, c, m); err == nil && asked.Token > bound {
					return m, &fence.AheadError{Scope: c.Scope, Token: c.Token, Bound: bound}
				}
				return next, err
			}
			return s, nil
		}
	}
}

// alone is a store whose data no second process can open.
func alone(s *fencetest.Subject) { s.Second = nil }

// strict is a store whose shared reads need a token.
type strict struct{ *correct }

func (s strict) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Mode == fence.Shared && c.Token == 0 {
		return "", false, fence.ErrNoToken
	}
	return s.correct.Read(ctx, c, key)
}

func brokenKinds() []broken {
	naming := func(f func(string) string) func() fencetest.Store {
		return func() fencetest.Store {
			s := newByHand(rule)
			s.name = func(c fence.Claim, _ string) string { return f(c.Scope) }
			return s
		}
	}
	keeping := func(f func(request) fence.Mark) func() fencetest.Store {
		return func() fencetest.Store { s := newByHand(rule); s.keep = f; return s }
	}
	var alike []broken // by the hash that is all that they know of a scope
	for name, hash := range map[string]func(string) uint32{
		"CRC-32": func(s string) uint32 { return crc32.ChecksumIEEE([]byte("name/" + s + "/mark")) },
		"CRC-32C": func(s string) uint32 {
			return crc32.Checksum([]byte("name/"+s+"/mark"), crc32.MakeTable(crc32.Castagnoli))
		},
		"FNV-1":  func(s string) uint32 { h := fnv.New32(); h.Write([]byte(s)); return h.Sum32() },
		"FNV-1a": func(s string) uint32 { h := fnv.New32a(); h.Write([]byte(s)); return h.Sum32() },
		"a polynomial": func(s string) (h uint32) {
			for _, b := range []byte("name/" + s) {
				h = 31*h + uint32(b)
			}
			return h
		},
	} {
		alike = append(alike, broken{
			name:   "scopes are known by their hash, " + name,
			open:   naming(func(scope string) string { return fmt.Sprint(hash(scope)) }),
			caught: []string{"RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		})
	}
	return append(alike, []broken{
		{
			name:   "a shared read needs a token",
			open:   func() fencetest.Store { return strict{newCorrect()} },
			caught: []string{"UnfencedReadAllowed"},
		},
		{
			name:   "a read is checked first and looks afterwards",
			open:   func() fencetest.Store { return looksLate{newCorrect()} },
			change: func(s *fencetest.Subject) { s.Second, s.NoShared = nil, true },
			caught: []string{"CheckAndOlderReadAreOneStep", "CrowdOfAllIsOneStep", "FirstClaimsOfAllAreOneStep"},
		},
		{
			name:   "a gap opens where many are at work",
			open:   func() fencetest.Store { return &overrun{correct: newCorrect()} },
			caught: []string{"CrowdIsOneStep"},
		},
		{
			name:   "a read after many writes at once returns what was there before them",
			open:   func() fencetest.Store { return &lags{correct: newCorrect()} },
			caught: []string{"CrowdIsOneStep"},
		},
		{
			name:   "a gap opens where few are at work, and only write",
			open:   func() fencetest.Store { return &lull{correct: newCorrect()} },
			change: alone,
			caught: []string{"CheckAndWriteAreOneStep"},
		},
		{
			name:   "such a gap opens between two processes",
			open:   func() fencetest.Store { return lullBeside{newCorrect()} },
			caught: []string{"ProcessesShareTheStep"},
		},
		{
			name:   "two processes with a gap between check and delete",
			open:   func() fencetest.Store { return openedForDeletes{newCorrect()} },
			change: func(s *fencetest.Subject) { s.NoSequence = true },
			caught: []string{
				"ProcessesShareEveryScopeStep", "ProcessesShareEveryStep", "ProcessesShareTheSharedStep",
			},
		},
		{
			name:    "a second process keeps the marks of its reads and deletes to itself",
			open:    func() fencetest.Store { return deletesAlone{newByHand(rule)} },
			caught:  []string{"ProcessesShareMarks", "ProcessesShareTheSequenceStep", "ProcessesShareTheSharedStep"},
			perhaps: []string{"ProcessesShareEveryStep", "ProcessesShareEveryScopeStep"},
		},
		{
			name:   "a second process begins the sequence anew with a request without a number",
			open:   func() fencetest.Store { return resetsSequence{newByHand(rule)} },
			caught: []string{"ProcessesShareAnyOrder"},
		},
		{
			name:   "a refused read returns data",
			open:   func() fencetest.Store { return tells{newCorrect()} },
			caught: []string{"RefusedReadTellsNothing"},
		},
		{
			name: "a shared claim with the token of the mark resets the sequence",
			open: keeping(func(r request) fence.Mark {
				m := kept(r)
				if r.err == nil && r.claim.Mode == fence.Shared && r.claim.Token == m.Token {
					m.Sequence = 0
				}
				return m
			}),
			caught: []string{"SequenceOutlivesShared"},
		},
		{
			name: "a sequence number under 0 is none",
			open: func() fencetest.Store {
				s := newByHand(rule)
				s.take = func(_ string, c *fence.Claim) { c.Sequence = max(0, c.Sequence) }
				return s
			},
			caught: []string{"InvalidSequenceRefused", "RefusalIsDefinite"},
		},
		{
			name: "an unknown mode is shared",
			open: func() fencetest.Store {
				s := newByHand(rule)
				s.take = func(_ string, c *fence.Claim) { c.Mode = min(c.Mode, fence.Shared) }
				return s
			},
			caught: []string{"UnknownModeRefused"},
		},
		{
			name: "what is not exclusive is not checked, and shared claims are not known",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Mode != fence.Exclusive {
					return m, nil
				}
				return m.Admit(c)
			}),
			change: func(s *fencetest.Subject) { s.NoShared = true },
			caught: []string{"UnknownModeRefused"},
		},
		{
			name: "a delete has no bound",
			open: byRule(rule),
			change: boundedAs(func(op string, c fence.Claim, _ fence.Mark) fence.Claim {
				if op == remove {
					c.Token = 0
				}
				return c
			}),
			caught: []string{"AheadRefused", "RefusalIsDefinite", "SharedAheadRefused"},
		},
		{
			name: "a mark at the bound has none",
			open: byRule(rule),
			change: boundedAs(func(_ string, c fence.Claim, m fence.Mark) fence.Claim {
				if m.Highest() == 40 {
					c.Token = 0
				}
				return c
			}),
			caught: []string{"AheadInAnyOrder"},
		},
		{
			name:   "marks outlive two restarts and no third one",
			open:   func() fencetest.Store { return threeLives{byHand: newByHand(rule)} },
			caught: []string{"RestartKeepsBothMarks", "RestartKeepsEveryMark", "RestartKeepsManyMarks", "RestartKeepsMark"},
		},
		{
			name:   "the sequence number of a delete is in memory only",
			open:   newForgetsDeletes,
			caught: []string{"RestartKeepsAnyOrder"},
		},
		{
			name:   "scopes lose white space around them",
			open:   naming(strings.TrimSpace),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll"},
		},
		{
			name:   "scopes end at the first NUL",
			open:   naming(func(scope string) string { name, _, _ := strings.Cut(scope, "\x00"); return name }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll"},
		},
		{
			name:   "bytes of scopes that are no UTF-8 are replaced",
			open:   naming(func(scope string) string { return strings.ToValidUTF8(scope, "\ufffd") }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll"},
		},
		{
			name:   "a key keeps the marks of its last scope alone",
			open:   lastScope(func(fence.Claim, fence.Mark) bool { return true }),
			caught: []string{"KeyHasNoMark"},
		},
		{
			name:   "what is asked with a context that is done is done, and is said not to be",
			open:   func() fencetest.Store { return deaf{newByHand(rule)} },
			caught: []string{"DoneContextDoesNothing"},
		},
		{
			name:   "what is asked with a context that is done is not done, and is said to be",
			open:   func() fencetest.Store { return sleepy{newByHand(rule)} },
			caught: []string{"DoneContextDoesNothing", "EndingContextLeavesNoHalf"},
		},
		{
			name:   "marks end after some seconds",
			open:   freshlyUsed(5 * time.Second),
			caught: []string{"TimeKeepsMark"},
		},
		{
			name: "a tenure that begins with a read goes on with the sequence of the one before",
			open: keeping(func(r request) fence.Mark {
				m := kept(r)
				if r.op == read && r.err == nil && r.claim.Token > r.before.Token {
					m.Sequence = r.before.Sequence
				}
				return m
			}),
			change: func(s *fencetest.Subject) { s.Second, s.Restart = nil, nil },
			caught: []string{"RequestsInAnyOrder"},
		},
	}...)
}

func TestStoresOfOtherKindsAreCaught(t *testing.T) {
	for _, tt := range brokenKinds() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
