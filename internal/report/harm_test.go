package report

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/story"
)

// harmed are the places of events that rows show as violations.
func harmed(rows []story.Row) []int {
	places := make(map[int]bool)
	for _, r := range rows {
		if r.Harmful() {
			places[r.Place] = true
		}
	}
	return slices.Sorted(maps.Keys(places))
}

// accused are the places of events at which there are violations.
func accused(violations []history.Violation, events int) []int {
	places := make(map[int]bool)
	for _, v := range violations {
		if v.Event < events {
			places[v.Event] = true
		}
	}
	return slices.Sorted(maps.Keys(places))
}

// TestHarmIsTheVerdicts: the rows of harm are those that the judgement names, and
// no others, whatever happened; also if the events come in parts, and folded.
func TestHarmIsTheVerdicts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDrawing.Draw(rt, "drawing")
		events := append(d.Events, rapid.SliceOfN(anyEvent, 0, 150).Draw(rt, "more")...)
		violations := slices.Concat(d.Outcome.Violations, verdict.Judge(events).Violations)
		want := accused(violations, len(events))
		rows := story.NewBuilder().Add(events, violations)
		for _, got := range [][]story.Row{rows, story.Fold(rows, true)} {
			if diff := cmp.Diff(want, harmed(got)); diff != "" {
				rt.Fatalf("of %d rows (-want +got):\n%s", len(got), diff)
			}
		}
		b := story.NewBuilder()
		var live []story.Row
		for rest := events; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "step")
			seen := len(events) - len(rest) + n
			known := slices.DeleteFunc(slices.Clone(violations), func(v history.Violation) bool {
				return v.Event >= seen || rapid.IntRange(0, 3).Draw(rt, "later") == 0 && seen < len(events)
			})
			live = append(live, b.Add(rest[:n], known)...)
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, harmed(live)); diff != "" {
			rt.Fatalf("in steps (-want +got):\n%s", diff)
		}
	})
}
