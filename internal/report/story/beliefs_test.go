package story

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencelab/fencelab/internal/history"
)

func TestBeliefs(t *testing.T) {
	told := func(client string, kind history.Kind, op, tenure string) history.Event {
		return history.Event{Lane: client, Kind: kind, Op: op, Scope: "/l", Tenure: tenure}
	}
	service := func(kind history.Kind, client, tenure string) history.Event {
		return history.Event{Lane: "etcd", Kind: kind, Client: client, Scope: "/l", Tenure: tenure}
	}
	asks := func(client, tenure string) history.Event {
		return history.Event{Lane: client, Kind: history.KindInvoke, Op: history.OpWrite, Request: "r", Scope: "/l", Tenure: tenure}
	}
	granted, ok := service(history.KindGranted, "c1", "A"), told("c1", history.KindOK, history.OpLock, "A")
	ended := service(history.KindEnded, "c1", "A")
	for name, test := range map[string]struct {
		events []history.Event
		want   []Belief
	}{
		"it believes on after its lease has ended, until it is told": {
			[]history.Event{granted, ok, ended, asks("c1", "A"), told("c1", history.KindLost, "", "A"), told("c1", history.KindNote, "", "")},
			[]Belief{{"c1", 1, Span{0, 2}, Span{1, 4}, ""}},
		},
		"what is not over ends after the last event": {
			[]history.Event{granted, ok, asks("c1", "A")},
			[]Belief{{"c1", 1, Span{0, 3}, Span{1, 3}, ""}},
		},
		"who lets go believes no longer, whatever comes of it": {
			[]history.Event{granted, ok, told("c1", history.KindInvoke, history.OpUnlock, "A"), told("c1", history.KindUnknown, history.OpUnlock, "A"), ended},
			[]Belief{{"c1", 1, Span{0, 4}, Span{1, 2}, ""}},
		},
		"a lock may be let go by its name": {
			[]history.Event{granted, ok, told("c1", history.KindInvoke, history.OpUnlock, ""), ended},
			[]Belief{{"c1", 1, Span{0, 3}, Span{1, 2}, ""}},
		},
		"another lock's is another matter": {
			[]history.Event{granted, ok, {Lane: "c1", Kind: history.KindInvoke, Op: history.OpUnlock, Scope: "/m"}},
			[]Belief{{"c1", 1, Span{0, 3}, Span{1, 3}, ""}},
		},
		"who looks and finds that the lock is not its own believes no longer": {
			[]history.Event{granted, ok, ended, {Lane: "c1", Kind: history.KindFail, Op: history.OpWrite, Tenure: "A", Reason: "lost"}},
			[]Belief{{"c1", 1, Span{0, 2}, Span{1, 3}, ""}},
		},
		"who fails otherwise believes on": {
			[]history.Event{granted, ok, ended, {Lane: "c1", Kind: history.KindFail, Op: history.OpWrite, Tenure: "A", Reason: "stale"}},
			[]Belief{{"c1", 1, Span{0, 2}, Span{1, 4}, ""}},
		},
		"who was told and writes all the same knows better": {
			[]history.Event{granted, ok, ended, told("c1", history.KindLost, "", "A"), asks("c1", "A")},
			[]Belief{{"c1", 1, Span{0, 2}, Span{1, 3}, ""}},
		},
		"the dead believe nothing": {
			[]history.Event{granted, ok, {Lane: "c1", Kind: history.KindKill}, ended},
			[]Belief{{"c1", 1, Span{0, 3}, Span{1, 2}, ""}},
		},
		"who waits and works believes what is not so": {
			[]history.Event{granted, service(history.KindQueued, "c2", "B"), asks("c2", "B")},
			[]Belief{{"c1", 1, Span{0, 3}, Span{}, ""}, {"c2", 0, Span{}, Span{2, 3}, ""}},
		},
		"two clients in one tenure": {
			[]history.Event{granted, ok, told("c2", history.KindOK, history.OpTryLock, "A"), ended},
			[]Belief{{"c1", 1, Span{0, 3}, Span{1, 4}, ""}, {"c2", 1, Span{0, 3}, Span{2, 4}, ""}},
		},
		"an old tenure's end is not that of the new one": {
			[]history.Event{granted, ok, ended, service(history.KindGranted, "c1", "B"), told("c1", history.KindOK, history.OpLock, "B"), told("c1", history.KindLost, "", "A")},
			[]Belief{{"c1", 1, Span{0, 2}, Span{1, 5}, ""}, {"c1", 2, Span{3, 6}, Span{4, 6}, ""}},
		},
		"clients have the names of their lanes": {
			[]history.Event{
				{Kind: history.KindRun, Run: &history.Run{Service: "bakery"}}, service(history.KindGranted, "bakery", "A"), told("etcd\n", history.KindOK, history.OpLock, "A"),
			},
			[]Belief{{"lock service", 1, Span{1, 3}, Span{}, ""}, {`etcd\n`, 1, Span{1, 3}, Span{2, 3}, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Belief
			for _, b := range Beliefs(test.events) {
				got = append(got, *b)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Belief{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLanesBelieve: the lanes of each row say it, too.
func TestLanesBelieve(t *testing.T) {
	rows := Rows([]history.Event{
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

func TestSpan(t *testing.T) {
	for place, want := range map[int]bool{1: false, 2: true, 3: true, 4: false} {
		if got := (Span{2, 4}).Has(place); got != want {
			t.Errorf("place %d: got %v", place, got)
		}
	}
}
