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
