package kv_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// TestFlawsBreakTheirLaws: each flaw is caught by the laws that are about it, and
// else the storage is as good as Memory: what goes wrong in a control comes of the
// flaw.
func TestFlawsBreakTheirLaws(t *testing.T) {
	t.Parallel()
	for flaw, caught := range map[kv.Flaw][]string{
		kv.FlawDiffers: {
			"AheadInAnyOrder", "AheadRefused", "CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep",
			"CheckAndReadAreOneStep", "CheckAndWriteAreOneStep", "CrowdIsOneStep", "CrowdOfAllIsOneStep",
			"DeleteRaisesMark", "DoneContextDoesNothing", "EndingContextLeavesNoHalf", "EveryRefusalNamesBothTokens",
			"FirstClaimsAreOneStep", "FirstClaimsOfAllAreOneStep", "InvalidSequenceRefused", "KeyHasNoMark", "KeyIsNoMark",
			"LargestTokenAdmitted", "NewerTokenReplaces", "ReadRaisesMark", "RequestsInAnyOrder", "ScopeGuardsAllItsKeys", "ScopeGuardsManyKeys",
			"ScopeIsOneStep", "SequenceEndsWithTenure", "SequenceIsOneStep", "StaleWriteRefused", "TokensCompareAsNumbers",
			"TokensOfAllCompareAsNumbers", "ValueIsNoMark",
		},
		kv.FlawForgetful: {
			"AheadInAnyOrder", "CheckAndDeleteAreOneStep", "CheckAndOlderReadAreOneStep", "DeleteKeepsMark",
			"DeleteRaisesMark", "DoneContextDoesNothing", "EndingContextLeavesNoHalf", "EveryRefusalNamesBothTokens",
			"FirstClaimsOfAllAreOneStep", "KeyHasNoMark", "MarksOfAllRequestsStay", "RefusalNamesTheSequence",
			"RequestsInAnyOrder", "ScopesAreApartForAll", "SequenceOrdersDeletes", "SequenceOutlivesOthers",
			"TimeKeepsMark", "TokensOfAllCompareAsNumbers", "UnknownModeRefused",
		},
	} {
		t.Run(string(flaw), func(t *testing.T) {
			t.Parallel()
			s := fencetest.Subject{
				Open: func(context.Context) (fencetest.Store, error) {
					return engineStore{kv.NewFlawed(flaw, kv.Options{})}, nil
				},
				OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
					return engineStore{kv.NewFlawed(flaw, kvtest.Bounded(bound))}, nil
				},
				Idle:     time.Second, // no engine has a clock
				NoShared: true,
			}
			broken := make(map[string]error)
			for _, law := range fencetest.Laws {
				if err := law.Check(t.Context(), s); err != nil && !errors.Is(err, fencetest.ErrNotApplicable) {
					broken[law.Name] = err
				}
			}
			if got := slices.Sorted(maps.Keys(broken)); !slices.Equal(got, caught) {
				t.Errorf("caught by %q\nwant %q\n%v", got, caught, broken)
			}
		})
	}
}

// TestFlawedIsObserved: its account is as that of the others, and the marks that it
// shows are its own.
func TestFlawedIsObserved(t *testing.T) {
	for _, flaw := range []kv.Flaw{kv.FlawDiffers, kv.FlawForgetful} {
		var records []kv.Line
		f := kv.NewFlawed(flaw, kv.Options{Observe: func(r kv.Line) { records = append(records, r) }})
		ask := func(token fence.Token, id string, op kv.Op) error {
			return f.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: token}, ID: id}, op)
		}
		if err := ask(34, "1", kv.Op{Kind: kv.OpWrite, Key: "a", Value: "v"}); err != nil {
			t.Error(err)
		}
		if err := ask(33, "2", kv.Op{Kind: kv.OpWrite, Key: "a", Value: "stale"}); !errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v, want stale", flaw, err)
		}
		if len(records) != 2 || records[0].Mark != 34 || records[0].Error != "" || records[1].Refused != fencehttp.ReasonStale {
			t.Errorf("%s: told of %+v", flaw, records)
		}
		var entries []kv.Entry
		if err := f.Snapshot(t.Context(), func(e kv.Entry) error { entries = append(entries, e); return nil }); err != nil {
			t.Error(err)
		}
		if len(entries) != 2 || entries[0].Token != 34 || string(entries[1].Value) != "v" {
			t.Errorf("%s: a snapshot of %+v", flaw, entries)
		}
		if n, err := f.Stats(t.Context()); err != nil || n.Keys != 1 || n.Marks != 1 {
			t.Errorf("%s: %+v, %v", flaw, n, err)
		}
		if _, err := f.Raise(t.Context(), 40); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: a floor: %v", flaw, err)
		}
	}
}
