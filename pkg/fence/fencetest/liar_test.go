package fencetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// lies are what a law is told by a store that answers one of its requests wrongly.
type lies struct {
	mu   sync.Mutex
	made []string // the requests
	at   int      // which of them is answered wrongly; -1: none
	fail bool     // the wrong answer is an error that no law knows, whatever is right
}

// asked notes a request, and reports whether its answer is to be wrong.
func (l *lies) asked(op string, c fence.Claim, key, value string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, fmt.Sprint(op, c, key, value))
	return len(l.made)-1 == l.at
}

var errUnknown = errors.New("unknown")

// wrong is the wrong answer: an error that no law knows, or the opposite of the right one.
// That a duplicate is told as success is right.
func (l *lies) wrong(err error) error {
	switch {
	case l.fail:
		return errUnknown
	case err == nil || errors.Is(err, fence.ErrDuplicate):
		return fence.ErrStale
	}
	return nil
}

// liar is a correct store, but for one answer.
type liar struct {
	*correct
	lies *lies
}

func (s liar) Write(ctx context.Context, c fence.Claim, key, value string) error {
	lie, err := s.lies.asked(write, c, key, value), s.correct.Write(ctx, c, key, value)
	if lie {
		return s.lies.wrong(err)
	}
	return err
}

func (s liar) Delete(ctx context.Context, c fence.Claim, key string) error {
	lie, err := s.lies.asked(remove, c, key, ""), s.correct.Delete(ctx, c, key)
	if lie {
		return s.lies.wrong(err)
	}
	return err
}

func (s liar) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	lie := s.lies.asked(read, c, key, "")
	v, ok, err := s.correct.Read(ctx, c, key)
	switch {
	case lie && c.Token == 0 && !s.lies.fail:
		return v + "1", true, nil // a token stays one
	case lie:
		return v, ok, s.lies.wrong(err)
	}
	return v, ok, err
}

func (l *lies) subject() fencetest.Subject {
	s := subject(func() fencetest.Store { return liar{newCorrect(), l} })
	s.Marks = 200 // a law is run for many of its requests
	bounded := s.OpenBounded
	s.OpenBounded = func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
		of, err := bounded(ctx, bound)
		return liar{of.(*correct), l}, err
	}
	return s
}

// tell runs a law on a liar, and returns what was asked.
func tell(t *testing.T, law fencetest.Law, l *lies) (made []string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = law.Check(t.Context(), l.subject()) })
	return l.made, err
}

// races are laws by what remains of requests at the same moment: most of their answers may
// be one or the other.
var races = []string{
	"CheckAndWriteAreOneStep", "CheckAndDeleteAreOneStep", "CheckAndReadAreOneStep", "CheckAndOlderReadAreOneStep", "ScopeIsOneStep",
	"FirstClaimsAreOneStep", "CrowdIsOneStep", "ProcessesShareTheStep", "ProcessesShareEveryStep", "SharedIsOneStep",
	"FirstClaimsOfAllAreOneStep", "SequenceIsOneStep", "ProcessesShareEveryScopeStep", "ProcessesShareTheSequenceStep", "ProcessesShareTheSharedStep",
	"CrowdOfAllIsOneStep", "FirstSharedClaimsAreOneStep",
}

// unjudged is how many answers a law leaves to other laws.
var unjudged = map[string]int{
	"RefusalKeepsMark": 22, // what is refused, it asks for only
	"FailureKeepsMark": 2,  // what has remained of a failure
}

// TestEachAnswerIsJudged: a law fails where one answer to it is wrong, whichever it is. So a
// step of a law that judges nothing is noticed.
func TestEachAnswerIsJudged(t *testing.T) {
	for _, law := range fencetest.Laws {
		if slices.Contains(races, law.Name) {
			continue
		}
		believed := overlooked(t, law, false, func(err error) bool { return err == nil })
		if len(believed) != unjudged[law.Name] {
			t.Errorf("%s holds where one of these %d answers is wrong, want %d: %q", law.Name, len(believed), unjudged[law.Name], believed)
		}
	}
}

// asked is how many requests each law makes of a correct store, but for the races.
var asked = map[string]int{
	"AheadInAnyOrder":             723,
	"AheadRefused":                11,
	"DeleteKeepsMark":             4,
	"DeleteRaisesMark":            8,
	"DoneContextDoesNothing":      24,
	"EndingContextLeavesNoHalf":   28,
	"EqualTokenAdmitted":          6,
	"EveryRefusalNamesBothTokens": 12,
	"FailureKeepsMark":            11,
	"InvalidSequenceRefused":      14,
	"InvalidTokenRefused":         10,
	"KeyHasNoMark":                16,
	"KeyIsNoMark":                 453,
	"LargestTokenAdmitted":        5,
	"ManyMarksStay":               600,
	"MarksOfAllRequestsStay":      400,
	"MissingTokenRefused":         16,
	"NewerTokenReplaces":          5,
	"OddScopesAreApart":           82,
	"ProcessesShareAnyOrder":      718,
	"ProcessesShareBothMarks":     7,
	"ProcessesShareMarks":         19,
	"ReadRaisesMark":              10,
	"RefusalChangesNothing":       7,
	"RefusalIsDefinite":           27,
	"RefusalKeepsMark":            46,
	"RefusalNamesBothTokens":      2,
	"RefusalNamesTheMode":         7,
	"RefusalNamesTheSequence":     5,
	"RefusedReadTellsNothing":     8,
	"RefusedWriteIsNeverSeen":     601,
	"RequestsInAnyOrder":          718,
	"RestartKeepsAnyOrder":        781,
	"RestartKeepsBothMarks":       11,
	"RestartKeepsEveryMark":       23,
	"RestartKeepsManyMarks":       328,
	"RestartKeepsMark":            13,
	"RestartKeepsScopesApart":     342,
	"ScopeAndKeyAreApart":         84,
	"ScopeGuardsAllItsKeys":       21,
	"ScopeGuardsManyKeys":         203,
	"ScopesAreApartForAll":        456,
	"ScopesAreIndependent":        9,
	"ScopesAreNotConfused":        162,
	"SequenceDropsDuplicates":     3,
	"SequenceEndsWithTenure":      7,
	"SequenceHas64Bits":           289,
	"SequenceIsOfTheTenure":       3,
	"SequenceOrders":              8,
	"SequenceOrdersDeletes":       8,
	"SequenceOutlivesOthers":      6,
	"SequenceOutlivesShared":      15,
	"SharedAheadRefused":          5,
	"SharedClaimsShare":           7,
	"SharedHasNoSequence":         6,
	"SharedMarkIsNoExclusiveOne":  5,
	"SharedMarkStays":             4,
	"SharedRaisesMark":            18,
	"StaleDeleteRefused":          3,
	"StaleReadRefused":            7,
	"StaleSharedRefused":          7,
	"StaleWriteRefused":           10,
	"TimeKeepsMark":               19,
	"TokensCompareAsNumbers":      190,
	"TokensOfAllCompareAsNumbers": 855,
	"UnfencedReadAllowed":         7,
	"UnknownModeRefused":          42,
	"ValueIsNoMark":               120,
}

// TestEachLawAsksAll: no request of a law has gone. As each answer is judged, each request is a check.
func TestEachLawAsksAll(t *testing.T) {
	for _, law := range fencetest.Laws {
		if slices.Contains(races, law.Name) {
			continue
		}
		if made, _ := tell(t, law, &lies{at: -1}); len(made) != asked[law.Name] {
			t.Errorf("%s makes %d requests, want %d", law.Name, len(made), asked[law.Name])
		}
	}
}

// excused is how many requests may fail with any error, as far as a law is concerned.
var excused = map[string]int{
	"RefusalKeepsMark":          22, // which are to be refused
	"RefusedReadTellsNothing":   5,  // which are to be refused
	"DoneContextDoesNothing":    6,  // whose context is done
	"EndingContextLeavesNoHalf": 6,  // whose context ends
	"OddScopesAreApart":         41, // whose scope need not be taken
	"ScopesAreApartForAll":      1,  // of those that fail here: as above
	"RestartKeepsEveryMark":     1,  // whose value is long
	"RestartKeepsScopesApart":   3,  // of those that fail here: whose scope need not be taken
	"KeyHasNoMark":              4,  // whose key is under another lock
	"KeyIsNoMark":               41, // of those that fail here: as above
}

// TestEachFailureIsTold: a law returns the error of a request that fails with one that no law
// knows, whichever request it is and though the request was done. So an error that is not
// looked at is noticed.
func TestEachFailureIsTold(t *testing.T) {
	for _, law := range fencetest.Laws {
		silent := overlooked(t, law, true, func(err error) bool { return !errors.Is(err, errUnknown) })
		if len(silent) != excused[law.Name] {
			t.Errorf("%s does not tell that one of these %d requests failed, want %d: %q", law.Name, len(silent), excused[law.Name], silent)
		}
	}
}

// TestEachStoreThatDoesNotOpenIsTold: a law returns the error of a store that does not open or
// does not restart, whichever of its stores it is, and says what failed.
func TestEachStoreThatDoesNotOpenIsTold(t *testing.T) {
	for _, law := range fencetest.Laws {
		for at := 0; ; at++ {
			var calls int
			var want string
			fails := func(what string) error {
				if calls++; calls-1 != at {
					return nil
				}
				want = what + ": unknown"
				return errUnknown
			}
			s := subject(nil)
			bounded := s.OpenBounded
			s.Open = func(context.Context) (fencetest.Store, error) { return newCorrect(), fails("open") }
			s.OpenBounded = func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
				store, _ := bounded(ctx, bound)
				return store, fails("open")
			}
			s.Second = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
				return s, fails("open a second one")
			}
			s.Restart = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) { return s, fails("restart") }
			var err error
			synctest.Test(t, func(t *testing.T) { err = law.Check(t.Context(), s) })
			if calls <= at { // nothing failed
				break
			}
			if !errors.Is(err, errUnknown) || err.Error() != want {
				t.Errorf("%s: got %v, want %s", law.Name, err, want)
			}
		}
	}
}

// overlooked runs a law on liars, each of which answers another request wrongly, and returns those
// requests whose wrong answer the law overlooks, by the error that it returns.
func overlooked(t *testing.T, law fencetest.Law, fail bool, overlooks func(error) bool) (requests []string) {
	t.Helper()
	made, err := tell(t, law, &lies{at: -1})
	if err != nil {
		t.Fatalf("%s: a correct store: %v", law.Name, err)
	}
	for at := 0; at < len(made); at += 1 + at/50*10 { // after the first ones, fewer and fewer
		now, err := tell(t, law, &lies{at: at, fail: fail})
		if at < len(now) && overlooks(err) { // a race may make fewer requests than before
			requests = append(requests, now[at])
		}
	}
	return requests
}

// TestEachLawIsNeeded: for each law there is a store that this law catches, and no other one.
// It is among the broken stores, or it is a liar that is found out by no other law, as no
// other makes the same requests before the one that is answered wrongly.
func TestEachLawIsNeeded(t *testing.T) {
	made := make(map[string][]string)
	for _, law := range fencetest.Laws {
		if !slices.Contains(races, law.Name) {
			made[law.Name], _ = tell(t, law, &lies{at: -1})
		}
	}
	for _, law := range fencetest.Laws {
		one := func(b broken) bool { return slices.Equal(b.caught, []string{law.Name}) && b.perhaps == nil }
		if slices.ContainsFunc(slices.Concat(brokenStores(), brokenForShared(), brokenKinds(), brokenSteps(), brokenTells(), brokenRaces(), brokenOdd(), brokenWays(), brokenRestarts(), brokenNames(), brokenParts()), one) {
			continue
		}
		own := made[law.Name]
		if own == nil {
			t.Errorf("no broken store is caught by %s alone", law.Name)
			continue
		}
		for _, other := range fencetest.Laws {
			if of := made[other.Name]; other.Name != law.Name && len(of) >= len(own) && slices.Equal(of[:len(own)], own) {
				t.Errorf("no store is caught by %s alone: %s asks for the same, and more", law.Name, other.Name)
			}
		}
	}
}
