package report

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/pkg/fence"
)

// No token lies over the cross of a refusal or the head of what does harm, and no
// mark over the sign of harm, however close the lanes are.
func TestSignsAreSeen(t *testing.T) {
	write := func(client string, kind history.Kind, request string, token, mark fence.Token) history.Event {
		return history.Event{
			Lane: history.LaneStorage, Kind: kind, Op: history.OpWrite, Client: client, Tenure: client, Request: request,
			Scope: "/l", Token: token, Mark: mark, Key: "k", Value: request, Reason: "stale",
		}
	}
	holder := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: "c3", Tenure: "c3", Scope: "/l", Token: 2}
	waits := history.Event{Lane: "etcd", Kind: history.KindQueued, Client: "c2", Tenure: "c2", Scope: "/l", Token: 3}
	for _, clients := range []string{"c2 c3", "c1 c2 c3", "c0 c1 c2 c3", "a b c0 c1 c2 c3"} {
		lanes := append([]string{"etcd"}, strings.Fields(clients)...)
		d := story.Drawing{Events: []history.Event{
			{Kind: history.KindRun, Run: &history.Run{Fencing: true, Lanes: append(lanes, history.LaneStorage)}},
			holder, waits, write("c3", history.KindApplied, "1", 2, 2), write("c2", history.KindApplied, "2", 3, 3),
			write("c3", history.KindRefused, "3", 2, 3), write("c3", history.KindApplied, "4", 4, 4),
			write("c2", history.KindApplied, "5", 5, 5), write("c2", history.KindRefused, "6", 5, 6),
		}}
		for i := range 2 {
			d.Outcome.Violations = append(d.Outcome.Violations, history.Violation{Verdict: history.Corrupted, Kind: history.Stale, Before: 3, Event: 6 + i})
		}
		d.Outcome.Violations = append(d.Outcome.Violations, history.Violation{Verdict: history.Blocked, Kind: history.Refusal, Before: -1, Event: 8})
		for _, l := range []svg.Layout{svg.Wide, svg.Narrow} {
			checkSigns(t, clients, svg.Inline(d, l))
		}
	}
}

// box is what a picture has at a place.
type box struct {
	x, y, w, h int
	what       string
}

func checkSigns(t *testing.T, name string, scene svg.Scene) {
	t.Helper()
	p := scene.Panels[0]
	var signs []box
	refused, harmful := 0, 0 // in the legend, too
	for _, a := range p.Arrows {
		left := min(a.X2, a.X2+10*(a.X1-a.X2)/max(a.X1-a.X2, a.X2-a.X1)) // where its head begins
		switch {
		case a.Cross != "":
			refused++
			signs = append(signs, box{a.X2 - 6, a.Y2 - 6, 12, 12, "the cross"})
		case strings.Contains(a.Class, "bad"):
			signs = append(signs, box{left, a.Y2 - 5, 10, 10, "the head"})
		}
	}
	for _, s := range p.Signs {
		if s.Class == "harm" {
			harmful++
			signs = append(signs, box{s.X - s.R, s.Y - s.R, 2 * s.R, 2 * s.R, "the sign of harm"})
		}
	}
	if refused < 3 || harmful < 4 {
		t.Fatalf("%s: %d refusals, %d that do harm", name, refused, harmful)
	}
	var words []box
	for _, b := range p.Boxes {
		if strings.HasPrefix(b.Class, "pill") {
			words = append(words, box{b.X, b.Y, b.W, b.H, b.Class})
		}
	}
	for _, l := range labelsOf(scene) {
		if strings.HasPrefix(l.class, "mark") {
			x1, y1, x2, y2 := extent(l)
			words = append(words, box{x1, y1, x2 - x1, y2 - y1, l.class})
		}
	}
	for _, w := range words {
		for _, s := range signs {
			if w.x < s.x+s.w && s.x < w.x+w.w && w.y < s.y+s.h && s.y < w.y+w.h {
				t.Errorf("%s, %d pixels wide: %v lies over %s", name, scene.Width, w, s.what)
			}
		}
	}
}
