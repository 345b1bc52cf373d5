package fencetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// tenDigits is whether one number is below another one as text of ten digits.
func tenDigits[T int64 | fence.Token](a, b T) bool {
	return fmt.Sprintf("%010d", a) < fmt.Sprintf("%010d", b)
}

// durableAs is a store whose marks are changed as they are made durable.
type durableAs struct {
	*byHand
	as func(fence.Mark) fence.Mark
}

func (s durableAs) crash() fencetest.Store {
	s.byHand.crash()
	for scope, m := range s.marks {
		s.marks[scope] = s.as(m)
	}
	s.durable = maps.Clone(s.marks)
	return s
}

// readAs is a store whose second process reads marks that are changed.
type readAs struct {
	*byHand
	as func(fence.Mark) fence.Mark
}

func (s readAs) beside() fencetest.Store { return readAsBeside(s) }

type readAsBeside struct {
	*byHand
	as func(fence.Mark) fence.Mark
}

func (s readAsBeside) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.mu.Lock()
	_, err := s.as(s.marks[c.Scope]).Admit(c)
	before := s.marks[c.Scope]
	if err == nil && c.Token == before.Token {
		s.marks[c.Scope] = s.as(before)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.byHand.Write(ctx, c, key, value)
}

// remembers is a store of which a process that is opened later keeps the marks that are there then.
type remembers struct {
	*byHand
	marks map[string]fence.Mark // nil: it is the first process
}

func (s remembers) beside() fencetest.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return remembers{s.byHand, maps.Clone(s.byHand.marks)}
}

func (s remembers) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.mu.Lock()
	m, known := s.marks[c.Scope]
	if !known {
		s.mu.Unlock()
		return s.byHand.Write(ctx, c, key, value)
	}
	defer s.mu.Unlock()
	next, err := m.Admit(c)
	if err != nil {
		return err
	}
	s.marks[c.Scope], s.byHand.marks[c.Scope] = next.Done(c), s.byHand.marks[c.Scope].Max(next.Done(c))
	s.data[key] = value
	return nil
}

// knowsFew is a store whose second process knows the first 1000 scopes.
type knowsFew struct{ *byHand }

func (s knowsFew) beside() fencetest.Store { return knowsFewBeside(s) }

type knowsFewBeside struct{ *byHand }

func (s knowsFewBeside) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.mu.Lock()
	if names := slices.Sorted(maps.Keys(s.marks)); len(names) > 1000 && c.Scope >= names[1000] {
		delete(s.marks, c.Scope)
	}
	s.mu.Unlock()
	return s.byHand.Write(ctx, c, key, value)
}

// agrees is a store that acknowledges a stale write of the value that is there.
type agrees struct{ *correct }

func (s agrees) Write(ctx context.Context, c fence.Claim, key, value string) error {
	err := s.correct.Write(ctx, c, key, value)
	if v, ok := s.get(key); ok && v == value && errors.Is(err, fence.ErrStale) {
		return nil
	}
	return err
}

// endingBetween is a store that does a write in two parts, and looks at the context between them.
type endingBetween struct {
	*byHand
	end func(s *byHand, c fence.Claim, key string) error // where it is done
}

func (s endingBetween) Write(ctx context.Context, c fence.Claim, key, value string) error {
	s.mu.Lock()
	if _, err := s.marks[c.Scope].Admit(c); err != nil || ctx.Err() == nil {
		s.mu.Unlock()
		return s.byHand.Write(ctx, c, key, value)
	}
	defer s.mu.Unlock()
	return s.end(s.byHand, c, key)
}

func brokenOdd() []broken {
	changed := func(change func(*byHand)) func() fencetest.Store {
		return func() fencetest.Store { s := newByHand(rule); change(s); return s }
	}
	taking := func(f func(string, *fence.Claim)) func() fencetest.Store {
		return changed(func(s *byHand) { s.take = f })
	}
	naming := func(f func(fence.Claim, string) string) func() fencetest.Store {
		return changed(func(s *byHand) { s.name = f })
	}
	keeping := func(f func(request) fence.Mark) func() fencetest.Store {
		return changed(func(s *byHand) { s.keep = f })
	}
	// ending opens stores with marks that end after some seconds, if such a request made them.
	ending := func(such func(request) bool) func() fencetest.Store {
		return changed(func(s *byHand) {
			made := make(map[string]time.Time)
			s.keep = func(r request) fence.Mark {
				if delete(made, r.claim.Scope); such(r) {
					made[r.claim.Scope] = time.Now()
				}
				return kept(r)
			}
			s.take = func(_ string, c *fence.Claim) {
				if at, is := made[c.Scope]; is && time.Since(at) > 5*time.Second {
					delete(s.marks, c.Scope)
				}
			}
		})
	}
	short := func(m fence.Mark) fence.Mark { m.Sequence = int64(uint32(m.Sequence)); return m }
	var list []broken
	for _, sep := range []string{"", "/", "::", "|", ".", "-", "_", ",", " ", "#", ";", "&", "=", "+", "@", "!", "~", "%", "$", "\\"} {
		list = append(list, broken{
			name: fmt.Sprintf("scope and key are joined by %q", sep),
			open: naming(func(c fence.Claim, key string) string { return c.Scope + sep + key }),
			caught: []string{
				"DeleteRaisesMark", "KeyHasNoMark", "ProcessesShareEveryScopeStep", "ScopeAndKeyAreApart",
				"ScopeGuardsAllItsKeys", "ScopeGuardsManyKeys", "ScopeIsOneStep", "SequenceIsOfTheTenure",
			},
		})
	}
	for op, unmarked := range map[string][]string{
		write:  {"ProcessesShareTheSharedStep", "SharedIsOneStep", "SharedRaisesMark", "TimeKeepsMark"},
		remove: {"ProcessesShareTheSharedStep", "SharedIsOneStep", "SharedRaisesMark", "TimeKeepsMark"},
		read: {
			"FirstSharedClaimsAreOneStep", "ProcessesShareBothMarks", "ProcessesShareTheSharedStep", "RefusalNamesTheMode",
			"RefusedReadTellsNothing", "RestartKeepsBothMarks", "SharedIsOneStep", "SharedMarkIsNoExclusiveOne", "SharedMarkStays", "SharedRaisesMark",
			"TimeKeepsMark",
		},
	} {
		list = append(list, broken{
			name: "a shared " + op + " raises no mark",
			open: keeping(func(r request) fence.Mark {
				if r.op == op && r.claim.Mode == fence.Shared {
					return r.before
				}
				return kept(r)
			}),
			caught: unmarked,
		}, broken{
			name: "a shared " + op + " with the token of the mark resets the sequence",
			open: keeping(func(r request) fence.Mark {
				m := kept(r)
				if r.err == nil && r.op == op && r.claim.Mode == fence.Shared && r.claim.Token == m.Token {
					m.Sequence = 0
				}
				return m
			}),
			caught: []string{"SequenceOutlivesShared"},
		}, broken{
			name:   "the mark of a shared " + op + " ends after some seconds",
			open:   ending(func(r request) bool { return r.err == nil && r.op == op && r.claim.Mode == fence.Shared }),
			caught: []string{"TimeKeepsMark"},
		})
	}
	return append(list, []broken{
		{
			name: "sequence numbers are compared as text of ten digits",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if next, err := (fence.Mark{Token: m.Token, Shared: m.Shared}).Admit(c); c.Sequence > 0 && m.Sequence > 0 && next.Token == m.Token && err == nil && c.Sequence != m.Sequence {
					if tenDigits(c.Sequence, m.Sequence) {
						err = &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token, Sequence: c.Sequence, MarkSequence: m.Sequence}
					}
					return m, err
				}
				return m.Admit(c)
			}),
			caught: []string{"SequenceHas64Bits"},
		},
		{
			name: "tokens of numbered requests are compared as text of ten digits",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Sequence > 0 && c.Mode == fence.Exclusive && c.Token > 0 && tenDigits(c.Token, m.Token) {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{"TokensOfAllCompareAsNumbers"},
		},
		{
			name: "shared tokens are compared as text of ten digits",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Mode == fence.Shared && c.Token > 0 && tenDigits(c.Token, m.Token) {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{"TokensOfAllCompareAsNumbers"},
		},
		{
			name: "reads have tokens of 56 bits",
			open: taking(func(op string, c *fence.Claim) {
				if op == read && c.Token > 0 {
					c.Token &= 1<<56 - 1
				}
			}),
			caught: []string{"TokensOfAllCompareAsNumbers"},
		},
		{
			name:   "sequence numbers are made durable in 32 bits",
			open:   func() fencetest.Store { return durableAs{newByHand(rule), short} },
			caught: []string{"RestartKeepsMark"},
		},
		{
			name: "shared marks are made durable in 32 bits",
			open: func() fencetest.Store {
				return durableAs{newByHand(rule), func(m fence.Mark) fence.Mark { m.Shared = fence.Token(uint32(m.Shared)); return m }}
			},
			caught: []string{"RestartKeepsBothMarks"},
		},
		{
			name:   "a second process reads sequence numbers of 32 bits",
			open:   func() fencetest.Store { return readAs{newByHand(rule), short} },
			caught: []string{"ProcessesShareMarks"},
		},
		{
			name:   "a sequence number is taken without its sign",
			open:   taking(func(_ string, c *fence.Claim) { c.Sequence = max(c.Sequence, -c.Sequence) }),
			caught: []string{"InvalidSequenceRefused"},
		},
		{
			name: "a sequence number under 0 is taken by its last 32 bits",
			open: taking(func(_ string, c *fence.Claim) {
				if c.Sequence < 0 {
					c.Sequence = int64(int32(c.Sequence))
				}
			}),
			caught: []string{"InvalidSequenceRefused"},
		},
		{
			name: "a mode above the highest one is exclusive",
			open: taking(func(_ string, c *fence.Claim) {
				if c.Mode == fence.Shared+1 {
					c.Mode = fence.Exclusive
				}
			}),
			caught: []string{"UnknownModeRefused"},
		},
		{
			name: "the highest mode of all is exclusive",
			open: taking(func(_ string, c *fence.Claim) {
				if c.Mode == math.MaxUint8 {
					c.Mode = fence.Exclusive
				}
			}),
			caught: []string{"UnknownModeRefused"},
		},
		{
			name:   "a mark for each directory of keys",
			open:   naming(func(c fence.Claim, key string) string { return c.Scope + "\n" + key[:strings.LastIndex(key, "/")+1] }),
			caught: []string{"ScopeGuardsAllItsKeys"},
		},
		{
			name:   "scopes of more than 2000 bytes are cut",
			open:   naming(func(c fence.Claim, _ string) string { return c.Scope[:min(len(c.Scope), 2000)] }),
			caught: []string{"OddScopesAreApart"},
		},
		{
			name:   "a stale write of what is there is acknowledged",
			open:   func() fencetest.Store { return agrees{newCorrect()} },
			caught: []string{"StaleWriteRefused"},
		},
		{
			name:   "a process keeps the marks that were there as it was opened",
			open:   func() fencetest.Store { return remembers{byHand: newByHand(rule)} },
			caught: []string{"ProcessesShareMarks"},
		},
		{
			name:   "a second process knows the first 1000 scopes",
			open:   func() fencetest.Store { return knowsFew{newByHand(rule)} },
			caught: []string{"ManyMarksStay"},
		},
		{
			name: "what a crash leaves is tidied up, and has no marks of keys that are there then",
			open: changed(func(s *byHand) {
				requests := 0
				s.keep = func(r request) fence.Mark {
					if requests++; requests%1000 == 0 {
						maps.DeleteFunc(s.durable, func(scope string, _ fence.Mark) bool { return s.data[scope] != "" })
					}
					return kept(r)
				}
			}),
			caught: []string{"RestartKeepsManyMarks"},
		},
		{
			name:   "the mark of a write ends after some seconds",
			open:   ending(func(r request) bool { return r.err == nil && r.op == write }),
			caught: []string{"TimeKeepsMark"},
		},
		{
			name: "a context that ends leaves the mark alone, and the write is said to be done",
			open: func() fencetest.Store {
				return endingBetween{newByHand(rule), func(s *byHand, c fence.Claim, _ string) error {
					s.marks[c.Scope] = s.marks[c.Scope].Max(fence.Mark{Token: c.Token})
					return nil
				}}
			},
			caught: []string{"DoneContextDoesNothing", "EndingContextLeavesNoHalf"},
		},
		{
			name: "a context that ends leaves the mark, and another value",
			open: func() fencetest.Store {
				return endingBetween{newByHand(rule), func(s *byHand, c fence.Claim, key string) error {
					s.data[key], s.marks[c.Scope] = "half", s.marks[c.Scope].Max(fence.Mark{Token: c.Token})
					return context.Canceled
				}}
			},
			caught: []string{"DoneContextDoesNothing", "EndingContextLeavesNoHalf"},
		},
	}...)
}

func TestStoresBrokenForOddValuesAreCaught(t *testing.T) {
	for _, tt := range brokenOdd() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
