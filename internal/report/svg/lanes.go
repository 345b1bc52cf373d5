package svg

import (
	"cmp"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// choose returns the lanes that are drawn where there is room for so many, in their
// order, and the names of the others. The storage comes first, as it decides; then
// the clients that something goes wrong with, then the other clients. Of the lock
// service the bars tell, and the texts.
func choose(lanes []story.Lane, rows []story.Row, room int) (drawn []story.Lane, left []string) {
	troubled := make(map[string]bool)
	for _, r := range rows {
		if slices.Contains([]story.Tone{story.Bad, story.Fault, story.Shield}, r.Class.Tone) {
			troubled[r.Lane], troubled[r.To] = true, true
		}
	}
	rank := func(l story.Lane) int {
		switch {
		case l.Name == history.LaneStorage:
			return 0
		case l.Name == story.LaneService:
			return 3
		case troubled[l.Name]:
			return 1
		}
		return 2
	}
	byRank := slices.SortedStableFunc(slices.Values(lanes), func(a, b story.Lane) int { return cmp.Compare(rank(a), rank(b)) })
	keep := byRank[:min(room, len(lanes))]
	for _, l := range lanes {
		if story.Index(keep, l.Name) >= 0 {
			drawn = append(drawn, l)
		} else {
			left = append(left, l.Name)
		}
	}
	return drawn, left
}

// within is a row where only some lanes are drawn. Of a message from or to another
// one there is its end.
func within(r story.Row, drawn []story.Lane) story.Row {
	lanes := make([]story.Lane, 0, len(drawn))
	for _, l := range r.Lanes {
		if story.Index(drawn, l.Name) >= 0 {
			lanes = append(lanes, l)
		}
	}
	r.Lanes = lanes
	if story.Index(drawn, r.To) < 0 {
		r.To = ""
	}
	if story.Index(drawn, r.Lane) < 0 {
		r.Lane, r.To = r.To, ""
	}
	return r
}
