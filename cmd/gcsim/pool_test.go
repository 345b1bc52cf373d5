package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

// scenarioOf is a scenario of variants whose only step has the verb.
func scenarioOf(name string, verb scenario.Verb, variants ...string) *scenario.Scenario {
	s := &scenario.Scenario{Name: name, Title: "About " + name}
	for _, v := range variants {
		s.Variants = append(s.Variants, scenario.Variant{Name: v, World: scenario.World{Service: "etcd"}, Steps: []scenario.Step{{Verb: verb}}})
	}
	return s
}

func names(jobs []*job) string {
	var list []string
	for _, j := range jobs {
		list = append(list, fmt.Sprintf("%s/%s/%d:%d", j.scenario.Name, j.variant.Name, j.round, j.options.Seed))
	}
	return strings.Join(list, " ")
}

func TestPlan(t *testing.T) {
	list := []*scenario.Scenario{scenarioOf("a", scenario.Lock, "x", "y"), scenarioOf("b", scenario.Lock, "z")}
	for repeat, want := range map[int]string{
		1: "a/x/0:7 a/y/0:7 b/z/0:7",
		2: "a/x/1:7 a/x/2:8 a/y/1:7 a/y/2:8 b/z/1:7 b/z/2:8",
	} {
		if got := names(plan(list, repeat, lab.Options{Seed: 7})); got != want {
			t.Errorf("repeat %d: got %s, want %s", repeat, got, want)
		}
	}
}

func TestControlFirst(t *testing.T) {
	jobs := plan([]*scenario.Scenario{scenarioOf("b", scenario.Lock, "x", "y", "z"), scenarioOf("a", scenario.Lock, "x", "y")}, 1, lab.Options{})
	jobs[2].variant.Control, jobs[4].variant.Control = true, true
	if got, want := names(story.ControlFirst(jobs, (*job).result)), "b/z/0:0 b/x/0:0 b/y/0:0 a/y/0:0 a/x/0:0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLongestFirst(t *testing.T) {
	jobs := plan([]*scenario.Scenario{
		scenarioOf("a", scenario.Lock, "x", "y"), scenarioOf("b", scenario.Count, "x"), scenarioOf("c", scenario.Lock, "x"),
		scenarioOf("d", scenario.Load, "x"), scenarioOf("e", scenario.Count, "x"), scenarioOf("f", scenario.Lock, "x", "y", "own"),
	}, 1, lab.Options{Services: all.List})
	for _, j := range jobs[6:] {
		j.variant.World.Service = "hazelcast"
	}
	jobs[8].variant.Own = "restarts Hazelcast"
	if got, want := names(longestFirst(jobs)), "d/x/0:0 f/x/0:0 f/own/0:0 b/x/0:0 e/x/0:0 a/x/0:0 a/y/0:0 c/x/0:0 f/y/0:0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStoppedPool: each job gets a result all the same, and nothing runs.
func TestStoppedPool(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	jobs := plan([]*scenario.Scenario{scenarioOf("a", scenario.Lock, "x", "y")}, 3, lab.Options{Exe: "/bin/false"})
	p := &pool{side: 2, save: func(r story.Result) error { return fmt.Errorf("no room for %s", r.Variant) }}
	p.start(ctx, jobs)
	for _, j := range jobs {
		select {
		case r := <-j.done:
			if r.Skipped == "" || r.Scenario != "a" || r.Variant != j.variant.Name || r.Round != j.round {
				t.Errorf("got %+v", r)
			}
		case <-time.After(time.Minute):
			t.Fatal("a job got no result")
		}
	}
	if got := errors.Join(p.unsaved...); len(p.unsaved) != 6 || !strings.Contains(got.Error(), "no room for y") {
		t.Errorf("what could not be saved: %v", got)
	}
}

func TestProgressSays(t *testing.T) {
	jobs := plan([]*scenario.Scenario{scenarioOf("a", scenario.Lock, "x", "y")}, 1, lab.Options{})
	now := time.Now()
	p := &pool{over: 3, running: map[*job]time.Time{jobs[0]: now.Add(-time.Second), jobs[1]: now.Add(-9 * time.Second)}}
	if got, want := p.progress(5, now), "3 of 5 runs done; 2 going on: a y 9 s, a x 1 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&pool{}).progress(5, now), "0 of 5 runs done"; got != want {
		t.Errorf("at the start: got %q, want %q", got, want)
	}
}

func TestNamesAreDistinct(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"a b", ""},
		{"a b a", `two of the scenarios are called "a"`},
		{"..", "is no name"},
		{".hidden", "is no name"},
		{"a\x1bb", "is no name"},
	} {
		var list []*scenario.Scenario
		for name := range strings.SplitSeq(tt.names, " ") {
			list = append(list, scenarioOf(name, scenario.Lock, "x"))
		}
		err := distinct(list)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.names, err, tt.want)
		}
	}
}

func TestLoadByAnyName(t *testing.T) {
	for _, name := range []string{"01", "gc-pause", "01-gc-pause", "etcd/1", "etcd/gc-pause", "../../scenarios/etcd/01-gc-pause.yaml"} {
		list, err := load([]string{name}, io.Discard)
		if err != nil || len(list) != 1 || list[0].Name != mainStory {
			t.Errorf("%s: got %v, %v", name, list, err)
		}
	}
	all, err := load(nil, io.Discard)
	if err != nil || !slices.ContainsFunc(all, func(s *scenario.Scenario) bool { return s.Name == mainStory }) || len(all) < 2 {
		t.Errorf("without a name: got %v, %v", all, err)
	}
}

// TestPoolTellsOfErrors: also where the world did not start, so that there is no
// event.
func TestPoolTellsOfErrors(t *testing.T) {
	const text = "title: t\nclients: {c: {lock: /l}}\nsteps:\n  - c: lock\nvariants:\n  x: {expect: {verdict: safe}}\n"
	one, err := lab.Language(all.List).Parse("a.yaml", "a", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	jobs := plan([]*scenario.Scenario{one}, 1, lab.Options{Services: all.List, Exe: "/no/such/program"})
	(&pool{side: 1}).start(t.Context(), jobs)
	select {
	case r := <-jobs[0].done:
		if r.Err == nil || !strings.Contains(r.Err.Error(), "start the world") || r.Scenario != "a" || r.Began.IsZero() {
			t.Errorf("got %+v", r)
		}
	case <-time.After(time.Minute):
		t.Fatal("no result")
	}
}
