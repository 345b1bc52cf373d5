package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
)

// tenureAt is a client's time with the lock: it asks for the lock, is told of it a second later, then writes at once, or
// late, and is told of that a second later. Times are seconds of the true clock.
type tenureAt struct {
	client string
	asks   int
	late   int // 0: at once
}

// skewed is what clients tell whose clocks go wrong by so many seconds, and the storage's account, whose times say nothing.
func skewed(clocks map[string]int, tenures ...tenureAt) []history.Event {
	run := &history.Run{Version: history.Version, Service: "locks", Tokens: make(map[string]string)}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: run}}
	applied := make(map[int]history.Event)
	end := 0
	for i, tt := range tenures {
		run.Tokens[tt.client] = history.ShowsNone
		name := fmt.Sprint(tt.client, i)
		tell := func(at int, e history.Event) {
			e.At, e.Lane, e.Scope = time.Duration(at+clocks[tt.client])*time.Second, tt.client, "l"
			events, end = append(events, e), max(end, at+clocks[tt.client])
		}
		write := history.Event{Kind: history.KindInvoke, Op: history.OpWrite, Tenure: name, Request: name, Key: "k", Value: name}
		at := max(tt.asks+1, tt.late)
		tell(tt.asks, history.Event{Kind: history.KindInvoke, Op: history.OpLock})
		tell(tt.asks+1, history.Event{Kind: history.KindOK, Op: history.OpLock, Tenure: name})
		tell(at, write)
		write.Kind = history.KindOK
		tell(at+1, write)
		write.Lane, write.Kind, write.Tenure, write.Scope = history.LaneStorage, history.KindApplied, "", "l"
		applied[at] = write
	}
	order := make([]int, 0, len(applied))
	for at := range applied {
		order = append(order, at)
	}
	slices.Sort(order)
	for i, at := range order {
		e := applied[at]
		e.Index = int64(i + 1)
		events = append(events, e)
	}
	history.Sort(events)
	return append(events, history.Event{At: time.Duration(end) * time.Second, Lane: history.LaneLab, Kind: history.KindEnd})
}

// TestSet: where the storage's order tells how far the clocks of hosts are apart, they are set, and what is known by
// right clocks is known by wrong ones. Where it does not tell, nothing is set.
func TestSet(t *testing.T) {
	// a is told of the lock at 21, and writes at 40; meanwhile b has the lock.
	turns := []tenureAt{{"a", 0, 0}, {"b", 5, 0}, {"a", 20, 40}, {"b", 35, 0}, {"a", 50, 0}, {"b", 60, 0}}
	for name, tt := range map[string]struct {
		clocks  map[string]int
		turns   []tenureAt
		skew    time.Duration
		wants   time.Duration // the skew that is known then; below 0: none
		says    string
		verdict string
	}{
		"right clocks":   {nil, turns, -1, 5500 * time.Millisecond, "; a: +0.000 s; b: ", history.Corrupted},
		"wrong clocks":   {map[string]int{"a": 300, "b": 7000}, turns, -1, 5500 * time.Millisecond, "; a: +0.000 s; b: -67", history.Corrupted},
		"a known skew":   {map[string]int{"b": 3}, turns, 3 * time.Second, 3 * time.Second, "", history.Corrupted},
		"one order only": {map[string]int{"b": 7000}, []tenureAt{{"a", 0, 0}, {"b", 5, 0}}, -1, -1, "", history.Undecided},
		"one client":     {nil, []tenureAt{{"a", 0, 0}, {"a", 5, 0}}, -1, -1, "", history.Safe},
	} {
		t.Run(name, func(t *testing.T) {
			given := judge.Clocks{TTL: 10 * time.Second, Skew: tt.skew}
			events, c, err := given.Set(skewed(tt.clocks, tt.turns...))
			if err != nil {
				t.Fatal(err)
			}
			if c.Skew != tt.wants {
				t.Errorf("the skew is %v, want %v", c.Skew, tt.wants)
			}
			j, err := judge.ByClients(events, c)
			if err != nil {
				t.Fatal(err)
			}
			if reasons := strings.Join(j.Clients.Reasons, "\n"); j.Name != tt.verdict || !strings.Contains(reasons, tt.says) {
				t.Errorf("it is %s, by %s", j.Name, reasons)
			}
			if tt.verdict == history.Corrupted && (len(j.Violations) != 1 || events[j.Violations[0].Event].Request != "a2") {
				t.Errorf("not the late write alone is wrong: %v", j.Violations)
			}
			for i, e := range events {
				asked := slices.IndexFunc(events, func(a history.Event) bool { return a.Kind == history.KindInvoke && a.Request == e.Request })
				if e.Kind == history.KindApplied && tt.wants >= 0 && tt.skew < 0 && asked > i {
					t.Errorf("%s was applied before its client asked for it", e.Request)
				}
			}
			again, c, err := given.Set(events)
			if err != nil || c.Skew != tt.wants || !slices.EqualFunc(again, events, func(a, b history.Event) bool { return a.At == b.At }) {
				t.Errorf("when they are set: skew %v, error %v", c.Skew, err)
			}
		})
	}
	_, _, err := judge.Clocks{Skew: time.Second}.Set(skewed(map[string]int{"b": 7000}, turns...))
	if want := "the storage's order contradicts --skew: the clocks of b and a differ by 6984.000 s at least"; err == nil || !strings.HasPrefix(err.Error(), want[:60]) {
		t.Errorf("clocks that are further apart: %v", err)
	}
	known := skewed(map[string]int{"b": 3}, turns...)
	known[0].Run.Skew = 3 * time.Second
	for _, skew := range []time.Duration{-1, 0, 5 * time.Second} {
		if _, c, err := (judge.Clocks{Skew: skew}).Set(known); err != nil || c.Skew != max(skew, 3*time.Second) {
			t.Errorf("a skew of 3 s by the run, and %v: %v, error %v", skew, c.Skew, err)
		}
	}
	meanwhile := skewed(nil, turns...)
	for i, e := range meanwhile {
		if e.Lane == "b" && e.At > 30*time.Second {
			meanwhile[i].At += time.Hour
		}
	}
	history.Sort(meanwhile)
	if _, c, err := (judge.Clocks{Skew: -1}).Set(meanwhile); err != nil || c.Skew >= 0 {
		t.Errorf("a clock that is set meanwhile: skew %v, error %v", c.Skew, err)
	}
}

// TestDoubts: of tenures whose order is not known each pair is told of once, and each event has one doubt.
func TestDoubts(t *testing.T) {
	events := skewed(nil, tenureAt{"a", 0, 0}, tenureAt{"b", 5, 0}, tenureAt{"a", 20, 0}, tenureAt{"b", 35, 0})
	end := events[len(events)-1]
	more := history.Event{At: end.At, Lane: "b", Kind: history.KindInvoke, Op: history.OpWrite, Tenure: "b3", Request: "more", Scope: "l", Key: "k", Value: "more"}
	applied := more
	applied.Lane, applied.Kind, applied.Tenure, applied.Index = history.LaneStorage, history.KindApplied, "", 5
	events = append(events[:len(events)-1], more, applied, end)
	j, err := judge.ByClients(events, judge.Clocks{TTL: 10 * time.Second, Skew: -1})
	if err != nil {
		t.Fatal(err)
	}
	var doubts []string
	for _, v := range j.Undecided {
		doubts = append(doubts, events[v.Before].Request+" or "+events[v.Event].Request)
	}
	if want := []string{"a0 or b1", "b1 or a2", "a2 or b3"}; !slices.Equal(doubts, want) || !strings.Contains(j.Undecided[2].Text, "nor of 1 earlier ones and b3") {
		t.Errorf("in doubt: %v (%v), want %q", doubts, j.Undecided, want)
	}
}
