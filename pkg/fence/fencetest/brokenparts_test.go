package fencetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// firstLock has a key belong to its first lock for ever, which is right.
func firstLock(s *byHand) way {
	var all sync.Mutex
	locks := make(map[string]string)
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		all.Lock()
		defer all.Unlock()
		if of, is := locks[key]; is && of != c.Scope {
			return fence.Definite.Wrap(fmt.Errorf("the key is of the lock %q", of))
		}
		return s.do(op, c, key, func() { locks[key] = c.Scope; f() })
	}
}

// unchanged has a write of the value that is there raise the mark, and not count its number.
func unchanged(s *byHand) way {
	return func(_ context.Context, op string, c fence.Claim, key, value string, f func()) error {
		s.mu.Lock()
		old, there := s.data[key]
		s.mu.Unlock()
		if _, err := s.look(c.Scope).Admit(c); op == write && there && old == value && err == nil {
			c.Sequence = 0
		}
		return s.do(op, c, key, f)
	}
}

// notes has a numbered request counted as done before the context is looked at.
func notes(s *byHand) way {
	return func(ctx context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		if c.Sequence == 0 || ctx.Err() == nil {
			return s.do(op, c, key, f)
		}
		if err := s.do(op, c, key, func() {}); err != nil {
			return err
		}
		return ctx.Err()
	}
}

// doneSet opens stores that know what was done by a text alone.
func doneSet(text func(fence.Claim) string) func() fencetest.Store {
	return func() fencetest.Store {
		s, done := newByHand(nil), make(map[string]bool)
		s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
			next, err := m.Admit(c)
			if err == nil && c.Sequence > 0 && done[text(c)] {
				return m, fence.ErrDuplicate
			}
			return next, err
		}
		s.keep = func(r request) fence.Mark {
			if r.err == nil && r.claim.Sequence > 0 {
				done[text(r.claim)] = true
			}
			return kept(r)
		}
		return s
	}
}

// inTable opens stores that keep a part of a mark in the table of the marks, under another name.
func inTable(name string, part func(fence.Mark) fence.Token) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		s.keep = func(r request) fence.Mark {
			m, at := kept(r), r.claim.Scope+name
			s.marks[at] = s.marks[at].Max(fence.Mark{Token: part(m)})
			return m
		}
		return s
	}
}

func brokenNames() []broken {
	naming := func(f func(string) string) func() fencetest.Store {
		return func() fencetest.Store {
			s := newByHand(rule)
			s.name = func(c fence.Claim, _ string) string { return f(c.Scope) }
			return s
		}
	}
	long := func(r rune) bool { return r > 0xffff } // four bytes in UTF-8
	var list []broken
	for _, at := range []string{"hwm:%s", "__fence__:%s", "%s.fencing-token"} {
		list = append(list, broken{
			name:   "tokens are kept among the data, as " + at,
			open:   func() fencetest.Store { return inKeys(func(scope string) string { return fmt.Sprintf(at, scope) }) },
			caught: []string{"KeyIsNoMark"},
		})
	}
	return append(list, []broken{
		{
			name: "characters of four bytes are one",
			open: naming(func(scope string) string {
				return strings.Join(strings.FieldsFunc(scope+"\x00", long), "\U0001f363")
			}),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll"},
		},
		{
			name: "names are cut at a character of four bytes",
			open: naming(func(scope string) string {
				if at := strings.IndexFunc(scope, long); at >= 0 {
					scope = scope[:at]
				}
				return scope
			}),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll"},
		},
		{
			name:   "the digits of scope and token are not apart",
			open:   doneSet(func(c fence.Claim) string { return fmt.Sprintf("%s%d:%d", c.Scope, c.Token, c.Sequence) }),
			caught: []string{"SequenceEndsWithTenure"},
		},
		{
			name:   "the digits of token and sequence number are not apart",
			open:   doneSet(func(c fence.Claim) string { return fmt.Sprintf("%q:%d%d", c.Scope, c.Token, c.Sequence) }),
			caught: []string{"SequenceEndsWithTenure"},
		},
		{
			name:   "shared marks are in the table of the others",
			open:   inTable(":shared", func(m fence.Mark) fence.Token { return m.Shared }),
			caught: []string{"KeyIsNoMark"},
		},
		{
			name:   "sequence numbers are in the table of the marks",
			open:   inTable(":seq", func(m fence.Mark) fence.Token { return fence.Token(m.Sequence) }),
			caught: []string{"KeyIsNoMark"},
		},
	}...)
}

func brokenParts() []broken {
	changed := func(change func(*byHand)) func() fencetest.Store {
		return func() fencetest.Store { s := newByHand(rule); change(s); return s }
	}
	// keepsRow leaves the token of a scope's first claim, where the claim is refused so.
	keepsRow := func(refusal error) func(request) fence.Mark {
		return func(r request) fence.Mark {
			if r.before == (fence.Mark{}) && r.claim.Mode != fence.Shared && errors.Is(r.err, refusal) {
				return fence.Mark{Token: r.claim.Token}
			}
			return kept(r)
		}
	}
	// saying opens stores whose stale refusals say something else.
	saying := func(says func(op string, c fence.Claim, m fence.Mark, stale *fence.StaleError)) func() fencetest.Store {
		return changed(func(s *byHand) {
			var op string
			s.take = func(kind string, _ *fence.Claim) { op = kind }
			s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if stale := (*fence.StaleError)(nil); errors.As(err, &stale) {
					says(op, c, m, stale)
				}
				return next, err
			}
		})
	}
	var list []broken
	for _, op := range []string{read, remove} {
		list = append(list, broken{
			name: fmt.Sprintf("the refusal of a %s by a shared mark names the exclusive one", op),
			open: saying(func(kind string, _ fence.Claim, m fence.Mark, stale *fence.StaleError) {
				if kind == op && stale.MarkMode == fence.Shared {
					stale.Mark, stale.MarkMode = m.Token, fence.Exclusive
				}
			}),
			caught: []string{"RefusalNamesTheMode"},
		})
	}
	return append(list, []broken{
		{
			name: "a first claim that is ahead leaves a mark",
			open: byRule(rule),
			change: func(s *fencetest.Subject) {
				boundedAs(func(_ string, c fence.Claim, _ fence.Mark) fence.Claim { return c })(s)
				bounded := s.OpenBounded
				s.OpenBounded = func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
					of, err := bounded(ctx, bound)
					of.(*byHand).keep = keepsRow(fence.ErrAhead)
					return of, err
				}
			},
			caught: []string{"AheadRefused"},
		},
		{
			name: "the bound is one of 32 bits",
			open: byRule(rule),
			change: boundedAs(func(_ string, c fence.Claim, _ fence.Mark) fence.Claim {
				c.Token = fence.Token(uint32(c.Token))
				return c
			}),
			caught: []string{"AheadRefused"},
		},
		{
			name:   "a first claim with a sequence number under 0 leaves a mark",
			open:   changed(func(s *byHand) { s.keep = keepsRow(fence.ErrInvalidSequence) }),
			caught: []string{"InvalidSequenceRefused"},
		},
		{
			name:   "a first claim of an unknown mode leaves a mark",
			open:   changed(func(s *byHand) { s.keep = keepsRow(fence.ErrInvalidMode) }),
			caught: []string{"UnknownModeRefused"},
		},
		{
			name:   "a write of the value that is there does not count its number",
			open:   newWay(unchanged),
			caught: []string{"SequenceOrders"},
		},
		{
			name:   "a number is noted as done, and then the context is looked at",
			open:   newWay(notes),
			caught: []string{"EndingContextLeavesNoHalf"},
		},
		{
			name: "the sequence numbers of the last 100 scopes are known",
			open: changed(func(s *byHand) {
				var last []string
				s.keep = func(r request) fence.Mark {
					if r.err == nil && r.claim.Sequence > 0 && !slices.Contains(last, r.claim.Scope) {
						last = append(last, r.claim.Scope)
					}
					if len(last) > 100 {
						m := s.marks[last[0]]
						s.marks[last[0]], last = fence.Mark{Token: m.Token, Shared: m.Shared}, last[1:]
					}
					return kept(r)
				}
			}),
			caught: []string{"ManyMarksStay"},
		},
		{
			name: "a refusal names sequence numbers also where the token is stale",
			open: saying(func(_ string, c fence.Claim, m fence.Mark, stale *fence.StaleError) {
				stale.Sequence, stale.MarkSequence = c.Sequence, m.Sequence
			}),
			caught: []string{"RefusalNamesTheSequence"},
		},
		{
			name: "a read that a shared mark refuses returns data",
			open: func() fencetest.Store {
				s := newCorrect()
				return reads{s, func(v string, ok bool, err error) (string, bool, error) {
					if stale := (*fence.StaleError)(nil); errors.As(err, &stale) && stale.MarkMode == fence.Shared {
						v, ok = s.get("lock-a")
					}
					return v, ok, err
				}}
			},
			caught: []string{"RefusedReadTellsNothing"},
		},
		{
			name:   "another lock takes a key over, with a token that is no lower, and the mark with it",
			open:   lastScope(func(c fence.Claim, was fence.Mark) bool { return c.Token >= was.Highest() }),
			caught: []string{"KeyHasNoMark"},
		},
		{
			name: "sequence numbers of deletes go through 32 bits",
			open: changed(func(s *byHand) {
				s.take = func(op string, c *fence.Claim) {
					if op == remove && c.Sequence > 0 {
						c.Sequence = int64(uint32(c.Sequence))
					}
				}
			}),
			caught: []string{"SequenceOrdersDeletes"},
		},
	}...)
}

func TestStoresBrokenInTheirNamesAreCaught(t *testing.T) {
	for _, tt := range brokenNames() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}

func TestStoresBrokenInPartsAreCaught(t *testing.T) {
	for _, tt := range brokenParts() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
