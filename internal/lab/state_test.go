package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// TestLateObserver: the observer is told of a release and the next grant after
// the next holder was. The history has one holder at a time all the same.
func TestLateObserver(t *testing.T) {
	r := newRecorder(nil)
	r.begin(history.Run{})
	s := newState(r)
	tell := func(ms int, e history.Event) {
		e.At = time.Duration(r.began.Add(time.Duration(ms) * time.Millisecond).UnixNano())
		e.Scope = "/lock"
		s.take(e)
	}
	tell(1, history.Event{Lane: history.LaneEtcd, Kind: history.KindGranted, Tenure: "a"})
	tell(2, history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "a"})
	tell(10, history.Event{Lane: "c2", Kind: history.KindOK, Op: history.OpLock, Tenure: "b"})
	tell(11, history.Event{Lane: history.LaneEtcd, Kind: history.KindEnded, Tenure: "a"})
	tell(11, history.Event{Lane: history.LaneEtcd, Kind: history.KindGranted, Tenure: "b"})
	r.flush()
	var got []string
	for _, e := range r.events()[1:] {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Tenure))
	}
	if want := "granted a, ok a, ended a, granted b, ok b"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
