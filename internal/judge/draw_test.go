package judge_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/judge/linear"
)

func TestVisualize(t *testing.T) {
	events := tale(t, `
		c2 9 write k=2 ok
		c1 5 write k=1 ok`)
	events = append(events, history.Event{At: time.Second, Lane: "c1", Kind: history.KindPause})
	var page bytes.Buffer
	if err := judge.Visualize(&page, events); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<html", "c1-1: write /lock by 5.0: k=1", "c1: pause"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestFaults(t *testing.T) {
	event := func(lane string, kind history.Kind, cause string) history.Event {
		return history.Event{Lane: lane, Kind: kind, Cause: cause}
	}
	events := []history.Event{
		event("c1", history.KindPause, history.CauseStop),                    // 0
		event("c2", history.KindResume, ""),                                  // 1: of another
		event("c1", history.KindResume, ""),                                  // 2
		event("c1", history.KindNetwork, history.CausePartition),             // 3
		event("c1", history.KindNetwork, history.CauseDeafen),                // 4
		event("c1", history.KindNetwork, history.CauseDelay),                 // 5
		event("c1", history.KindNetwork, history.CauseReset),                 // 6
		event("c1", history.KindNetwork, history.CauseHeal),                  // 7
		event("c1", history.KindNetwork, history.CauseDeliver),               // 8
		event(history.LaneStorage, history.KindKill, ""),                     // 9
		event(history.LaneStorage, history.KindRestart, ""),                  // 10
		event("etcd", history.KindRestart, ""),                               // 11
		event("c2", history.KindKill, ""),                                    // 12: for good
		event("c1", history.KindInvoke, ""), event("c1", history.KindOK, ""), // 13, 14
		event("c1", history.KindResume, ""), // 15: of nothing
	}
	want := []linear.Fault{
		{Name: "c1: pause", Start: 0, End: 2},
		{Name: "c1: partition", Start: 3, End: 7},
		{Name: "c1: deafen", Start: 4, End: 7},
		{Name: "c1: delay", Start: 5, End: 8},
		{Name: "c1: reset", Start: 6, End: 6},
		{Name: "storage: kill", Start: 9, End: 10},
		{Name: "storage: restart", Start: 10, End: 10},
		{Name: "etcd: restart", Start: 11, End: 11},
		{Name: "c2: kill", Start: 12, End: 15},
	}
	if diff := cmp.Diff(want, judge.Faults(events)); diff != "" {
		t.Error(diff)
	}
}

// TestTime: no run waits for porcupine for ever.
func TestTime(t *testing.T) {
	var hard strings.Builder
	for range 40 {
		hard.WriteString("c1 5 write k=1 silent\n") // each may come at any time
	}
	hard.WriteString("final kc1-0 2")
	events := tale(t, hard.String())
	for i := range events {
		if len(events[i].Request) > 0 {
			events[i].Key += events[i].Request
		}
	}
	j := judge.Within(events, 20*time.Millisecond)
	want := judge.Opinion{Fenced: judge.Undecided, Operations: 41, Reason: "there was no result within 20ms"}
	if j.Storage != want {
		t.Errorf("%+v, want %+v", j.Storage, want)
	}
}

// TestLanes: of one number there is one operation after the other.
func TestLanes(t *testing.T) {
	events := tale(t, `
		c1 5 write k=1 ok
		c1 5 write k=2 unknown
		c1 5 write k=3 ok
		c2 0 read k ok 3
		c1 5 write k=4 ok`)
	ops, err := judge.Operations(events)
	if err != nil {
		t.Fatal(err)
	}
	var clients []int
	for _, op := range ops {
		clients = append(clients, op.Client)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 2, 1}, clients); diff != "" {
		t.Error(diff)
	}
}
