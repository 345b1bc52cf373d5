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

// TestReleaseThatEtcdTellsFirst: the accounts come through pipes of their own, and
// which of them is faster does not decide how a tenure ended.
func TestReleaseThatEtcdTellsFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		unlock time.Duration // when the client lets go; the end is at 20
		want   string
	}{
		"the client let go":          {10, history.CauseReleased},
		"it let go of what was over": {30, history.CauseExpired},
	} {
		t.Run(name, func(t *testing.T) {
			var got []history.Event
			r := newRecorder(func(e history.Event) { got = append(got, e) })
			s := newState(r)
			at := func(d time.Duration) time.Duration { return time.Duration(r.began.UnixNano()) + d }
			s.take(history.Event{At: at(1), Lane: history.LaneEtcd, Kind: history.KindGranted, Scope: "/lock", Tenure: "/lock/1"})
			s.take(history.Event{At: at(2), Lane: "client1", Kind: history.KindOK, Op: history.OpLock, Tenure: "/lock/1"})
			s.take(history.Event{At: at(20), Lane: history.LaneEtcd, Kind: history.KindEnded, Scope: "/lock", Tenure: "/lock/1"})
			s.take(history.Event{At: at(tt.unlock), Lane: "client1", Kind: history.KindInvoke, Op: history.OpUnlock, Tenure: "/lock/1"})
			r.flush()
			for _, e := range got {
				if e.Kind == history.KindEnded {
					if e.Cause != tt.want {
						t.Errorf("it ended %s, want %s", e.Cause, tt.want)
					}
					return
				}
			}
			t.Errorf("no end in %+v", got)
		})
	}
}
