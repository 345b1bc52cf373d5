package svg

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// TestBeliefIsBesideTenure: a client's lane has a bar for its tenure and one for its
// belief. They begin together, and the belief goes on until the client is told. The
// legend explains both, and a picture without a belief explains none.
func TestBeliefIsBesideTenure(t *testing.T) {
	events := []history.Event{
		{Kind: history.KindRun, Run: &history.Run{Lanes: []string{"etcd", "c1", "storage"}}},
		{Lane: "c1", Kind: history.KindInvoke, Op: history.OpLock},
		{Lane: "etcd", Kind: history.KindGranted, Client: "c1", Tenure: "A", Token: 2},
		{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "A", Token: 2},
		{Lane: "c1", Kind: history.KindPause},
		{Lane: "etcd", Kind: history.KindEnded, Client: "c1", Tenure: "A", Cause: history.CauseExpired},
		{Lane: "c1", Kind: history.KindResume},
		{Lane: "c1", Kind: history.KindLost, Tenure: "A"},
		{Lane: "c1", Kind: history.KindNote, Text: "it knows"},
	}
	for _, l := range []Layout{Wide, Narrow} {
		p := Inline(story.Drawing{Events: events}, l).Panels[0]
		at := func(class story.Class) int {
			return p.slots[slices.IndexFunc(p.rows, func(r story.Row) bool { return r.Class == class })].y
		}
		bar := func(class string) box {
			t.Helper()
			in := slices.DeleteFunc(slices.Clone(p.Bars), func(b box) bool { return b.Class != class || b.Y < p.slots[0].top })
			if len(in) != 1 {
				t.Fatalf("the bars of %s are %v, want one", class, in)
			}
			return in[0]
		}
		held, believed := bar("t1"), bar("belief t1")
		if held.Y != at(story.ClassGrant) || held.Y+held.H != at(story.ClassExpiry) {
			t.Errorf("it holds the lock from %d on for %d", held.Y, held.H)
		}
		if believed.Y != at(story.ClassGrant) || believed.Y+believed.H != at(story.ClassLost) {
			t.Errorf("it believes so from %d on for %d", believed.Y, believed.H)
		}
		if believed.X+believed.W > held.X {
			t.Errorf("the bars at %d and %d lie over one another", believed.X, held.X)
		}
		if got := said(p, "legend"); !strings.Contains(got, "holds the lock") || !strings.Contains(got, "believes so") {
			t.Errorf("the legend has %s", got)
		}
		if got, want := said(p, "believes"), !l.phone; (got == "still believes ") != want {
			t.Errorf("beside the lane there is %q", got)
		}
	}
	events[3] = history.Event{Lane: "c1", Kind: history.KindNote}
	if got := said(Inline(story.Drawing{Events: events}, Wide).Panels[0], "legend"); strings.Contains(got, "believes") {
		t.Errorf("nobody believes, and the legend has %s", got)
	}
}

// said is what labels of a class say.
func said(p *panel, class string) string {
	var b strings.Builder
	for _, l := range p.Labels {
		if l.Class == class {
			b.WriteString(l.Words.String() + " ")
		}
	}
	return b.String()
}
