package fencetest_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// failsBy is a store whose operations fail in a way of its own.
type failsBy struct {
	*byHand
	by func(s *byHand, c fence.Claim, key, value string) error
}

func (s failsBy) fail(c fence.Claim, key, value string) error { return s.by(s.byHand, c, key, value) }

// leavingMark opens stores whose operations fail, and leave their scope another mark.
func leavingMark(mark func(before fence.Mark) fence.Mark) func() fencetest.Store {
	return func() fencetest.Store {
		return failsBy{newByHand(rule), func(s *byHand, c fence.Claim, _, _ string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.marks[c.Scope] = mark(s.marks[c.Scope])
			return errHalfDone
		}}
	}
}

// inValue is a store that keeps the token of a write before its value, in a line that it takes for the last but one.
type inValue struct{ *byHand }

func (s inValue) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.byHand.Write(ctx, c, key, c.Token.String()+"\n"+value)
}

func (s inValue) crash() fencetest.Store {
	s.byHand.crash()
	return s
}

func (s inValue) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	v, ok, err := s.byHand.Read(ctx, c, key)
	return v[strings.LastIndex(v, "\n")+1:], ok, err
}

// inKeys is a store that keeps the highest token of each scope among the data.
func inKeys(at func(scope string) string) fencetest.Store {
	s := newByHand(nil)
	s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
		if m.Token != 0 && s.data[at(c.Scope)] != m.Token.String() {
			m = fence.Mark{}
		}
		return m.Admit(c)
	}
	s.keep = func(r request) fence.Mark {
		m := kept(r)
		if m.Token != 0 {
			s.data[at(r.claim.Scope)] = m.Token.String()
		}
		return m
	}
	return s
}

// pages is a store that looks for the mark of a scope in the first list of its keys.
func pages() fencetest.Store {
	s := newByHand(nil)
	keys := make(map[string]int)
	s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
		if keys[c.Scope] > 1000 {
			m = fence.Mark{}
		}
		return m.Admit(c)
	}
	s.keep = func(r request) fence.Mark {
		if !r.there && r.err == nil {
			keys[r.claim.Scope]++
		}
		return kept(r)
	}
	return s
}

// forgetsOthers is a store that forgets all marks when a third process opens it.
type forgetsOthers struct {
	*byHand
	processes *int
}

func (s forgetsOthers) beside() fencetest.Store {
	if *s.processes++; *s.processes > 1 {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.marks)
	}
	return s
}

// aheadTells is a store that returns what it has read also where the token is ahead.
type aheadTells struct{ *correct }

func (s aheadTells) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	v, ok, err := s.correct.Read(ctx, c, key)
	if errors.Is(err, fence.ErrAhead) {
		v, ok = s.get(key)
	}
	return v, ok, err
}

// numberedShared is a store that refuses a shared claim with a sequence number, and does what it asks for.
type numberedShared struct{ *byHand }

func (s numberedShared) Delete(ctx context.Context, c fence.Claim, key string) error {
	err := s.byHand.Delete(ctx, c, key)
	if errors.Is(err, fence.ErrInvalidSequence) && c.Mode == fence.Shared {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.data, key)
	}
	return err
}

// reads is a store whose answers to reads are changed.
type reads struct {
	*correct
	as func(v string, ok bool, err error) (string, bool, error)
}

func (s reads) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	return s.as(s.correct.Read(ctx, c, key))
}

// countsDeletes is a store that says of a key that it is there, and empty, after some deletes.
type countsDeletes struct {
	*byHand
	deleted map[string]int
}

func (s *countsDeletes) Delete(ctx context.Context, c fence.Claim, key string) error {
	s.mu.Lock()
	s.deleted[key]++
	s.mu.Unlock()
	return s.byHand.Delete(ctx, c, key)
}

func (s *countsDeletes) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	v, ok, err := s.byHand.Read(ctx, c, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return v, ok || err == nil && s.deleted[key] > 6, err
}

func brokenTells() []broken {
	changed := func(change func(*byHand)) func() fencetest.Store {
		return func() fencetest.Store { s := newByHand(rule); change(s); return s }
	}
	naming := func(f func(string) string) func() fencetest.Store {
		return changed(func(s *byHand) { s.name = func(c fence.Claim, _ string) string { return f(c.Scope) } })
	}
	namingFor := func(op string, f func(string) string) func() fencetest.Store {
		return changed(func(s *byHand) {
			s.take = func(kind string, c *fence.Claim) {
				if kind == op {
					c.Scope = f(c.Scope)
				}
			}
		})
	}
	refusing := func(f func(error) error) func() fencetest.Store {
		return byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
			next, err := m.Admit(c)
			if err != nil {
				err = f(err)
			}
			return next, err
		})
	}
	admitting := func(such func(fence.Claim) bool) func() fencetest.Store {
		return byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
			if such(c) {
				return m, nil
			}
			return m.Admit(c)
		})
	}
	return []broken{
		{
			name:   "a failure leaves no mark",
			open:   leavingMark(func(fence.Mark) fence.Mark { return fence.Mark{} }),
			caught: []string{"FailureKeepsMark"},
		},
		{
			name:   "a failure leaves the mark without its sequence number",
			open:   leavingMark(func(m fence.Mark) fence.Mark { return fence.Mark{Token: m.Token} }),
			caught: []string{"FailureKeepsMark"},
		},
		{
			name: "a failure counts as done if it is the first request of a tenure",
			open: func() fencetest.Store {
				return failsBy{newByHand(rule), func(s *byHand, c fence.Claim, key, value string) error {
					if s.marks[c.Scope].Token == c.Token {
						c.Sequence = 0
					}
					return errors.Join(errHalfDone, s.Write(context.Background(), c, key, value))
				}}
			},
			caught: []string{"FailureKeepsMark"},
		},
		{
			name: "a failure is said to be definite, and has done something",
			open: func() fencetest.Store {
				return failsBy{newByHand(rule), func(s *byHand, c fence.Claim, key, value string) error {
					c.Sequence = 0
					return fence.Definite.Wrap(errors.Join(errHalfDone, s.Write(context.Background(), c, key, value)))
				}}
			},
			caught: []string{"FailureKeepsMark"},
		},
		{
			name:   "a shared claim needs no token",
			open:   admitting(func(c fence.Claim) bool { return c.Token == 0 && c.Mode == fence.Shared }),
			caught: []string{"MissingTokenRefused"},
		},
		{
			name:   "a claim with a sequence number needs no token",
			open:   admitting(func(c fence.Claim) bool { return c.Token == 0 && c.Sequence > 0 }),
			caught: []string{"MissingTokenRefused"},
		},
		{
			name:   "a shared claim may have a token under 1",
			open:   admitting(func(c fence.Claim) bool { return c.Token < 0 && c.Mode == fence.Shared }),
			caught: []string{"InvalidTokenRefused", "RefusalIsDefinite"},
		},
		{
			name:   "a shared delete with a sequence number is refused, and done",
			open:   func() fencetest.Store { return numberedShared{newByHand(rule)} },
			caught: []string{"SharedHasNoSequence"},
		},
		{
			name:   "a refusal leaves open what became of the request",
			open:   refusing(fence.Unknown.Wrap),
			caught: []string{"RefusalIsDefinite"},
		},
		{
			name: "a refusal does not say the sequence numbers",
			open: refusing(func(err error) error {
				if stale := (*fence.StaleError)(nil); errors.As(err, &stale) {
					stale.Sequence, stale.MarkSequence = 0, 0
				}
				return err
			}),
			caught: []string{"RefusalNamesTheSequence"},
		},
		{
			name: "a refused delete says its own token for the mark",
			open: changed(func(s *byHand) {
				var op string
				s.take = func(kind string, _ *fence.Claim) { op = kind }
				s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
					next, err := m.Admit(c)
					if stale := (*fence.StaleError)(nil); op == remove && errors.As(err, &stale) {
						stale.Mark = c.Token
					}
					return next, err
				}
			}),
			change: func(s *fencetest.Subject) { s.NoSequence = true },
			caught: []string{"EveryRefusalNamesBothTokens", "RefusalNamesTheMode"},
		},
		{
			name: "a read is refused that is ahead, and returns data",
			open: func() fencetest.Store { return newCorrect() },
			change: func(s *fencetest.Subject) {
				bounded := s.OpenBounded
				s.OpenBounded = func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
					of, err := bounded(ctx, bound)
					return aheadTells{of.(*correct)}, err
				}
			},
			caught: []string{"RefusedReadTellsNothing"},
		},
		{
			name: "marks of deletes go when there are many",
			open: changed(func(s *byHand) {
				deletes := 0
				s.keep = func(r request) fence.Mark {
					if r.op == remove && r.err == nil {
						deletes++
					}
					if deletes > 500 {
						deletes = 0
						maps.DeleteFunc(s.marks, func(scope string, _ fence.Mark) bool { return s.data[scope] == "" })
					}
					return kept(r)
				}
			}),
			change: func(s *fencetest.Subject) { s.Restart = nil },
			caught: []string{"MarksOfAllRequestsStay"},
		},
		{
			name: "duplicates are known for some seconds",
			open: changed(func(s *byHand) {
				done := make(map[string]time.Time)
				s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
					next, err := m.Admit(c)
					if errors.Is(err, fence.ErrDuplicate) && time.Since(done[c.Scope]) > 5*time.Second {
						return m, nil
					}
					if err == nil {
						done[c.Scope] = time.Now()
					}
					return next, err
				}
			}),
			caught: []string{"TimeKeepsMark"},
		},
		{
			name: "a tenure ends when it has done nothing for some seconds",
			open: changed(func(s *byHand) {
				used := make(map[string]time.Time)
				s.admit = func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
					last := used[c.Scope]
					used[c.Scope] = time.Now()
					if c.Token > 0 && c.Token == m.Token && time.Since(last) > 5*time.Second {
						return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
					}
					return m.Admit(c)
				}
			}),
			caught: []string{"TimeKeepsMark"},
		},
		{
			name:   "a process that comes later begins without marks",
			open:   func() fencetest.Store { return forgetsOthers{newByHand(rule), new(int)} },
			caught: []string{"ProcessesShareMarks"},
		},
		{
			name:   "the mark is looked for among the first 1000 keys of the scope",
			open:   pages,
			caught: []string{"ScopeGuardsManyKeys"},
		},
		{
			name:   "the token ends at a line's end, of the value, too",
			open:   func() fencetest.Store { return inValue{newByHand(rule)} },
			caught: []string{"RestartKeepsEveryMark", "ValueIsNoMark"},
		},
		{
			name:   "tokens are kept among the data",
			open:   func() fencetest.Store { return inKeys(func(scope string) string { return scope + ".token" }) },
			caught: []string{"KeyIsNoMark"},
		},
		{
			name:   "an empty scope is no lock",
			open:   admitting(func(c fence.Claim) bool { return c.Token > 0 && c.Scope == "" }),
			caught: []string{"OddScopesAreApart"},
		},
		{
			name:   "scopes are cut at the front",
			open:   naming(func(scope string) string { return scope[max(0, len(scope)-255):] }),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name: "scopes are cut in the middle",
			open: naming(func(scope string) string {
				if len(scope) > 255 {
					scope = scope[:127] + scope[len(scope)-127:]
				}
				return scope
			}),
			caught: []string{"OddScopesAreApart", "RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name:   "letters of another form are one",
			open:   naming(strings.NewReplacer("\u212a", "k", "\ufb01", "fi", "\uff41", "a", "\u00b2", "2").Replace),
			caught: []string{"RestartKeepsScopesApart", "ScopesAreApartForAll", "ScopesAreNotConfused"},
		},
		{
			name:   "a delete folds the scope in case",
			open:   namingFor(remove, strings.ToLower),
			caught: []string{"ScopesAreApartForAll"},
		},
		{
			name:   "a read trims the scope",
			open:   namingFor(read, strings.TrimSpace),
			caught: []string{"ScopesAreApartForAll"},
		},
		{
			name: "a read that is refused returns data, and says that there is none",
			open: func() fencetest.Store {
				s := newCorrect()
				return reads{s, func(v string, ok bool, err error) (string, bool, error) {
					if err != nil {
						v, _ = s.get("lock-a")
					}
					return v, ok, err
				}}
			},
			caught: []string{"RefusedReadTellsNothing"},
		},
		{
			name:   "a key that has been deleted often is said to be there, and empty",
			open:   func() fencetest.Store { return &countsDeletes{byHand: newByHand(rule), deleted: make(map[string]int)} },
			caught: []string{"ProcessesShareAnyOrder", "RequestsInAnyOrder", "TokensOfAllCompareAsNumbers"},
		},
		{
			name: "a read that is refused says that there is a value",
			open: func() fencetest.Store {
				return reads{newCorrect(), func(v string, ok bool, err error) (string, bool, error) { return v, ok || err != nil, err }}
			},
			caught: []string{"RefusedReadTellsNothing"},
		},
		{
			name: "a read says that there is a value, where there is none",
			open: func() fencetest.Store {
				return reads{newCorrect(), func(v string, ok bool, err error) (string, bool, error) { return v, err == nil, err }}
			},
			caught: []string{
				"DeleteKeepsMark", "DeleteRaisesMark", "EndingContextLeavesNoHalf", "InvalidTokenRefused",
				"NewerTokenReplaces", "ProcessesShareBothMarks", "ReadRaisesMark", "ScopeGuardsAllItsKeys",
				"SequenceIsOfTheTenure", "SequenceOrdersDeletes", "SequenceOutlivesOthers", "SharedClaimsShare",
				"SharedMarkStays", "StaleReadRefused", "StaleSharedRefused", "TimeKeepsMark", "UnfencedReadAllowed",
				"UnknownModeRefused",
			},
		},
	}
}

func TestStoresThatTellWrongAreCaught(t *testing.T) {
	for _, tt := range brokenTells() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
