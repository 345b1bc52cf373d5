package fencetest_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// sharedTwoSteps is a correct store with a gap between the check and the
// operations of shared claims.
type sharedTwoSteps struct{ twoSteps }

func (s sharedTwoSteps) Write(ctx context.Context, c fence.Claim, key, value string) error {
	if c.Mode == fence.Shared {
		return s.twoSteps.Write(ctx, c, key, value)
	}
	return s.correct.Write(ctx, c, key, value)
}

func (s sharedTwoSteps) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Mode == fence.Shared {
		return s.twoSteps.Read(ctx, c, key)
	}
	return s.correct.Read(ctx, c, key)
}

// forgetsShared is a store whose shared marks are in memory only.
type forgetsShared struct{ *byHand }

func (s forgetsShared) crash() fencetest.Store {
	s.byHand.crash()
	for scope, m := range s.marks {
		m.Shared = 0
		s.marks[scope] = m
	}
	s.durable = maps.Clone(s.marks)
	return s
}

// brokenForShared obey all laws of exclusive claims, but for the last one.
func brokenForShared() []broken {
	return []broken{
		{
			name: "one mark for both modes",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				c.Mode = fence.Exclusive
				return m.Admit(c)
			}),
			caught: []string{
				"ProcessesShareBothMarks", "RefusalNamesTheMode", "RestartKeepsBothMarks", "SharedClaimsShare",
				"SharedHasNoSequence", "SharedMarkIsNoExclusiveOne", "SharedMarkStays", "UnknownModeRefused",
			},
		},
		{
			name: "shared claims are not checked",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Mode == fence.Shared && c.Token > 0 && c.Sequence == 0 {
					return m.Max(fence.Mark{Shared: c.Token}), nil
				}
				return m.Admit(c)
			}),
			caught: []string{
				"FirstSharedClaimsAreOneStep", "KeyIsNoMark", "ProcessesShareBothMarks", "ProcessesShareTheSharedStep",
				"RefusalIsDefinite", "RefusalNamesTheMode", "RefusedReadTellsNothing", "RestartKeepsBothMarks",
				"SharedIsOneStep", "SharedMarkIsNoExclusiveOne", "StaleSharedRefused",
			},
		},
		{
			name: "shared claims leave no mark",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				next.Shared = 0
				return next, err
			}),
			caught: []string{
				"FirstSharedClaimsAreOneStep", "ProcessesShareBothMarks", "ProcessesShareTheSharedStep",
				"RefusalNamesTheMode", "RefusedReadTellsNothing", "RestartKeepsBothMarks", "SharedIsOneStep",
				"SharedMarkIsNoExclusiveOne", "SharedMarkStays", "SharedRaisesMark", "TimeKeepsMark",
			},
		},
		{
			name: "the last shared token is the mark, and not the highest",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if err == nil && c.Mode == fence.Shared {
					next.Shared = c.Token
				}
				return next, err
			}),
			caught: []string{
				"FirstSharedClaimsAreOneStep", "ProcessesShareBothMarks", "ProcessesShareTheSharedStep",
				"RestartKeepsBothMarks", "SharedIsOneStep", "SharedMarkStays",
			},
		},
		{
			name: "shared claims may have a sequence number",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Mode == fence.Shared {
					c.Sequence = 0
				}
				return m.Admit(c)
			}),
			caught: []string{"SharedHasNoSequence"},
		},
		{
			name: "the refusal does not say the mode",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				var stale *fence.StaleError
				if errors.As(err, &stale) {
					stale.MarkMode = fence.Exclusive
				}
				return next, err
			}),
			caught: []string{"RefusalNamesTheMode"},
		},
		{
			name: "a refused writer leaves the readers' mark as its own",
			open: func() fencetest.Store {
				s := newByHand(rule)
				s.keep = func(r request) fence.Mark {
					if errors.Is(r.err, fence.ErrStale) && r.before.Shared > 0 && r.claim.Mode == fence.Exclusive {
						return fence.Mark{Token: r.before.Shared}
					}
					return kept(r)
				}
				return s
			},
			caught: []string{"RefusalNamesTheMode", "RestartKeepsBothMarks", "SharedMarkIsNoExclusiveOne"},
		},
		{
			name:   "a shared read looks first and is checked afterwards",
			open:   func() fencetest.Store { return sharedTwoSteps{twoSteps{newCorrect(), read}} },
			caught: []string{"FirstSharedClaimsAreOneStep", "ProcessesShareTheSharedStep", "SharedIsOneStep"},
		},
		{
			name:   "check and shared write in two steps",
			open:   func() fencetest.Store { return sharedTwoSteps{twoSteps{newCorrect(), write}} },
			caught: []string{"FirstSharedClaimsAreOneStep", "ProcessesShareTheSharedStep", "SharedIsOneStep"},
		},
		{
			name:   "shared marks are in memory only",
			open:   func() fencetest.Store { return forgetsShared{newByHand(rule)} },
			caught: []string{"RestartKeepsBothMarks"},
		},
		{
			name: "no bound for shared claims",
			open: byRule(rule),
			change: func(s *fencetest.Subject) {
				s.OpenBounded = func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
					s := newCorrect()
					s.register.Bound = func(c fence.Claim) (fence.Token, error) {
						if c.Mode == fence.Shared {
							return math.MaxInt64, nil
						}
						return bound, nil
					}
					return s, nil
				}
			},
			caught: []string{"SharedAheadRefused"},
		},
		{
			name: "two processes with marks of their own",
			open: func() fencetest.Store { return process{newCorrect()} },
			caught: []string{
				"ManyMarksStay", "ProcessesShareBothMarks", "ProcessesShareEveryScopeStep",
				"ProcessesShareEveryStep", "ProcessesShareMarks", "ProcessesShareTheSequenceStep",
				"ProcessesShareTheSharedStep", "ProcessesShareTheStep",
			},
		},
	}
}

func TestStoresBrokenForSharedClaimsAreCaught(t *testing.T) {
	for _, tt := range brokenForShared() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
