package verdict

import (
	"cmp"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// inOrder is the order in which to judge events: that of the history, which goes by the clock, but for what the
// storage did. That is in the storage's own order, at the places that it has in the history. A storage that was
// started again counts anew.
func inOrder(events []history.Event) []int {
	order := make([]int, len(events))
	var places []int // of what the storage did since it was started
	settle := func() {
		told := slices.Clone(places)
		slices.SortStableFunc(told, func(a, b int) int { return cmp.Compare(events[a].Index, events[b].Index) })
		for n, place := range places {
			order[place] = told[n]
		}
		places = nil
	}
	for i, e := range events {
		order[i] = i
		switch {
		case e.Lane == history.LaneStorage && (e.Kind == history.KindKill || e.Kind == history.KindRestart):
			settle()
		case e.Kind == history.KindApplied || e.Kind == history.KindRefused || e.Kind == history.KindDuplicate || e.Kind == history.KindUnanswered:
			places = append(places, i)
		}
	}
	settle()
	return order
}
