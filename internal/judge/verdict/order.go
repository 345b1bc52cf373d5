package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// come notes when a tenure came: the lock service first told of it.
func (j *judge) come(i int, e history.Event) {
	if _, known := j.came[e.Tenure]; !known {
		j.came[e.Tenure] = i
		j.questions.come(e)
	}
}

// compareComing finds that a tenure is granted only now, and one that came later was granted before.
func (j *judge) compareComing(t *tenure) {
	s := t.scope
	first := s.latest
	if t.mode == fence.Shared {
		first = s.latestAlone
	}
	if first != nil && first.came > t.came {
		j.passed = append(j.passed, history.Violation{Kind: history.Passed, Before: t.came, Event: first.event, Text: fmt.Sprintf(
			"%s was granted %s at %.3f s, before %s, who had queued at %.3f s",
			first.client, s.name, j.events[first.event].At.Seconds(), t.client, j.events[t.came].At.Seconds())})
	}
	s.latest = later(s.latest, t)
	if t.mode == fence.Exclusive {
		s.latestAlone = later(s.latestAlone, t)
	}
}

func later(a, b *tenure) *tenure {
	if a != nil && a.came > b.came {
		return a
	}
	return b
}

// InOrder is the order in which to judge events: that of the history, which goes by the clock, but for what the
// storage did. That is in the storage's own order, at the places that it has in the history. A storage that was
// started again counts anew.
func InOrder(events []history.Event) []int {
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
