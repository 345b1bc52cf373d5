package svg

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// TestChoose: where there is no room the storage stays, then who is in trouble; the
// lock service goes first.
func TestChoose(t *testing.T) {
	names := strings.Fields("etcd c1 c2 c3 c4 storage")
	rows := story.NewBuilder().Add([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Lanes: names}},
		{Lane: "etcd", Kind: history.KindGranted, Client: "c1", Tenure: "A"},
		{Lane: "c3", Kind: history.KindPause},
	}, nil)
	for room, want := range map[int]string{
		6: "lock service c1 c2 c3 c4 storage/",
		5: "c1 c2 c3 c4 storage/lock service",
		3: "c1 c3 storage/lock service c2 c4",
		2: "c3 storage/lock service c1 c2 c4",
		1: "storage/lock service c1 c2 c3 c4",
	} {
		drawn, others := choose(rows[0].Lanes, rows, room)
		var kept []string
		for _, l := range drawn {
			kept = append(kept, l.Name)
		}
		if got := strings.Join(kept, " ") + "/" + strings.Join(others, " "); got != want {
			t.Errorf("room for %d: got %s, want %s", room, got, want)
		}
	}
}

// TestWithin: of a message from or to a lane that is not drawn its end is drawn.
func TestWithin(t *testing.T) {
	lanes := []story.Lane{{Name: "c1"}, {Name: "storage"}}
	for _, test := range []struct{ lane, to, wantLane, wantTo string }{
		{"c1", "storage", "c1", "storage"},
		{"etcd", "c1", "c1", ""},
		{"c1", "etcd", "c1", ""},
		{"etcd", "", "", ""},
		{"c2", "etcd", "", ""},
	} {
		r := within(story.Row{Lane: test.lane, To: test.to, Lanes: []story.Lane{{Name: "etcd"}, {Name: "c1"}, {Name: "storage"}, {Name: "c2"}}}, lanes)
		if r.Lane != test.wantLane || r.To != test.wantTo || !slices.Equal(r.Lanes, lanes) {
			t.Errorf("from %q to %q: got from %q to %q in %v", test.lane, test.to, r.Lane, r.To, r.Lanes)
		}
	}
}
