package story_test

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// TestLaneOfTheLockService: it is that of the service that the run names, and a client
// may be called what is a service elsewhere.
func TestLaneOfTheLockService(t *testing.T) {
	for name, lane := range map[string]string{"": "etcd", "bakery": "bakery"} {
		b := story.NewBuilder()
		rows := b.Add([]history.Event{
			{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{Service: name, Lanes: []string{lane, "chubby"}}},
			{Lane: lane, Kind: history.KindGranted, Client: "chubby", Tenure: "t", Scope: "/l", Token: 1},
		}, nil)
		var lanes []string
		for _, l := range b.Lanes() {
			lanes = append(lanes, l.Name)
		}
		if want := []string{"lock service", "chubby"}; !slices.Equal(lanes, want) {
			t.Errorf("of %q the lanes are %q, want %q", name, lanes, want)
		}
		if len(rows) != 1 || rows[0].Lane != "lock service" {
			t.Errorf("of %q the rows are %+v, want a grant in the lane of the lock service", name, rows)
		}
	}
}

// TestLaneOfSeveralLocks: a client that loses one of its locks is drawn as the holder of
// the other.
func TestLaneOfSeveralLocks(t *testing.T) {
	lock := func(kind history.Kind, name string) history.Event {
		return history.Event{Lane: "etcd", Kind: kind, Client: "a", Scope: "/" + name, Tenure: name, Token: 1}
	}
	b := story.NewBuilder()
	b.Add([]history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{Lanes: []string{"etcd", "a"}}}}, nil)
	for i, step := range []struct {
		event history.Event
		want  int // the tenure that the lane holds
	}{
		{lock(history.KindGranted, "one"), 1},
		{lock(history.KindGranted, "two"), 2},
		{lock(history.KindEnded, "two"), 1},
		{lock(history.KindGranted, "three"), 3},
		{lock(history.KindEnded, "one"), 3},
		{lock(history.KindEnded, "three"), 0},
	} {
		b.Add([]history.Event{step.event}, nil)
		if got := b.Lanes()[1].Tenure; got != step.want {
			t.Errorf("event %d: the lane holds the tenure %d, want %d", i+1, got, step.want)
		}
	}
}
