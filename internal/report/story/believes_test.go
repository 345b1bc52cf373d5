package story

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestLanesBelieve: the lanes of each row say it, too.
func TestLanesBelieve(t *testing.T) {
	rows := NewBuilder().Add([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Service: "bakery", Lanes: []string{"bakery", "etcd", "storage"}}},
		{Lane: "etcd", Kind: history.KindInvoke, Op: history.OpLock},
		{Lane: "bakery", Kind: history.KindGranted, Client: "etcd", Tenure: "A"},
		{Lane: "etcd", Kind: history.KindOK, Op: history.OpLock, Tenure: "A"},
		{Lane: "etcd", Kind: history.KindPause},
		{Lane: "bakery", Kind: history.KindEnded, Client: "etcd", Tenure: "A", Cause: history.CauseExpired},
		{Lane: "etcd", Kind: history.KindLost, Tenure: "A"},
		{Lane: "etcd", Kind: history.KindLost, Tenure: "A"},
	}, nil)
	var holds, believes []bool
	for _, r := range rows {
		holds, believes = append(holds, r.Lanes[1].Tenure > 0), append(believes, r.Lanes[1].Believes)
	}
	if want := []bool{true, true, false, false, false}; !slices.Equal(holds, want) {
		t.Errorf("it holds the lock: %v, want %v", holds, want)
	}
	if want := []bool{false, true, true, false, false}; !slices.Equal(believes, want) {
		t.Errorf("it believes so: %v, want %v", believes, want)
	}
}

// TestLanesAreCalledAsTheyAreDrawn: a client that has the name of another lock service, or one
// that cannot be printed, believes in the lane that is drawn for it.
func TestLanesAreCalledAsTheyAreDrawn(t *testing.T) {
	b := NewBuilder()
	b.Add([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Service: "bakery"}},
		{Lane: "etcd", Kind: history.KindGranted, Client: "bakery", Scope: "/l", Tenure: "A"},
		{Lane: "etcd\n", Kind: history.KindOK, Op: history.OpLock, Scope: "/l", Tenure: "A"},
	}, nil)
	lanes := b.Lanes()
	i, j := Index(lanes, "lock service"), Index(lanes, `etcd\n`)
	if i < 0 || j < 0 || lanes[i].Tenure != 1 || lanes[i].Believes || !lanes[j].Believes {
		t.Errorf("the lanes are %+v", lanes)
	}
}
