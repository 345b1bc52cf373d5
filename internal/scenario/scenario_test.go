package scenario_test

import (
	"flag"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/scenarios"
)

var update = flag.Bool("update", false, "write what is expected anew")

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(text(t, file), got); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", file, diff)
	}
}

func text(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("s.yaml", "s", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParse: a file that has everything.
func TestParse(t *testing.T) {
	s := parse(t, text(t, "testdata/full.yaml"))
	defaults := scenario.Client{
		Lock: "/lock", TTL: time.Second, Timeout: 5 * time.Second, Token: "revision", Scope: "lock", Member: "any",
		Session: "own", Look: "begin", Reads: "fenced", Change: "batch",
	}
	first := scenario.Client{
		Lock: "/a", TTL: 2 * time.Minute, Timeout: 500 * time.Millisecond, Token: "header", Scope: "key", Member: "lowest",
		Session: "kept", Look: "is-owner", Reads: "plain", Numbered: true, Change: "singly", Delay: 3 * time.Second,
	}
	changed, shared := first, defaults
	changed.Token, changed.Delay, changed.Numbered = "lease", time.Second, false
	shared.Token, shared.Session, shared.Delay = "max", "client1", time.Second
	plainWorld := scenario.World{
		Etcd:    scenario.Etcd{Members: 1, Restore: "plain"},
		Storage: scenario.Storage{Engine: "memory", Fencing: "on", Bound: "none"},
	}
	setWorld := scenario.World{
		Etcd:    scenario.Etcd{Members: 3, Restore: "bumped"},
		Storage: scenario.Storage{Engine: "bolt", Fencing: "off", Bound: "issuer"},
		Pauses:  1,
	}
	zero, two, no, yes := 0, 2, false, true
	step := func(line int, verb scenario.Verb, key, value string) scenario.Step {
		return scenario.Step{Actor: "client1", Client: "client1", Verb: verb, Key: key, Value: value, Line: line, Column: 5}
	}
	change := step(22, "begin", "", "")
	change.Changes = []history.Change{{Key: "b", Value: "1=1"}, {Key: "a", Value: ""}}
	finish := step(24, "finish", "", "")
	finish.Send = true
	steps := []scenario.Step{
		step(20, "write", "k", "a=b  c #1"), step(21, "read", "k", ""), change,
		{Actor: "gcsim", Client: "client1", Verb: "pause", For: 6 * time.Second, Line: 23, Column: 5}, finish,
		{Actor: "gcsim", Client: "client1", Verb: "await", Line: 25, Column: 5},
		{Actor: "gcsim", Client: "client1", Verb: "deafen", Service: "storage", Line: 26, Column: 5},
		{Actor: "gcsim", Client: "storage", Verb: "kill", Line: 27, Column: 5},
		{Actor: "gcsim", Client: "storage", Verb: "restart", Line: 28, Column: 5},
	}
	want := &scenario.Scenario{
		Name: "s", Title: "A title", Lesson: "What happens.\n\nAnd why.", Helps: "what helps", Source: "one; two",
		Clients: []string{"client1", "client2"}, Together: [][]string{{"b", "a"}},
		Variants: []scenario.Variant{
			{
				Name: "z", World: plainWorld, Clients: map[string]scenario.Client{"client1": first, "client2": defaults}, Steps: steps,
				Expect: history.Expect{Verdict: "blocked", Stale: &zero, Refused: &two, Ordered: &no, Exclusive: &yes, Fenced: &yes, Final: map[string]string{"a": "200", "b": "0x10", "k": "true"}},
			},
			{
				Name: "a", About: "what sets it apart", Control: true, World: setWorld,
				Clients: map[string]scenario.Client{"client1": changed, "client2": shared},
				Steps: []scenario.Step{
					{Actor: "client1", Client: "client1", Verb: "lock", Line: 49, Column: 9},
					{Actor: "clients", Client: "clients", Verb: "count", Key: "counter", Times: 40, Line: 50, Column: 9},
				},
				Expect: history.Expect{Verdict: "corrupted", Final: map[string]string{"counter": "80"}},
			},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "k"}, s.Keys(&s.Variants[0])); diff != "" {
		t.Error(diff)
	}
}

// TestNeighbours: only a lock within another is refused.
func TestNeighbours(t *testing.T) {
	for _, lock := range []string{"/lock", "/lock2", "/loc", "/other/lock", "lock", "/"} {
		parse(t, strings.Replace(text(t, "testdata/good.yaml"), "client2: {lock: /lock", "client2: {lock: "+lock, 1))
	}
}

func TestTemplate(t *testing.T) {
	for _, name := range []string{"22-mine", "my own\nname: x"} {
		s, err := scenario.Parse("new.yaml", "new", scenario.Template(name))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if s.Variants[0].Control || !s.Variants[1].Control || s.Lesson == "" || s.Helps == "" || s.Source == "" {
			t.Errorf("%q: %+v", name, s)
		}
	}
	if !strings.Contains(string(scenario.Template("22-mine")), "gcsim run 22-mine.yaml\n") {
		t.Error("the template does not say how to run it")
	}
	for key, values := range scenario.Values() {
		for _, v := range append(values, key) {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(v) + `\b`).Match(scenario.Template("22-mine")) {
				t.Errorf("the template says nothing of %q, of %s", v, key)
			}
		}
	}
}

func TestNeeds(t *testing.T) {
	const tale = "title: t\nworld: {etcd: {members: %1}}\nclients: {c: {lock: /l, member: %2}}\nsteps: [%3]\nvariants: {v: {control: true, expect: {verdict: blocked}}}\n"
	for _, tt := range []struct{ members, member, steps, want string }{
		{"1", "any", "c: lock", ""},
		{"3", "any", "c: lock", "it wants 3 etcd members"},
		{"3", "leader", "{gcsim: pause leader}, {gcsim: resume leader}, {gcsim: pause leader}", "it wants 3 etcd members, stops etcd's leader and has clients of single members of etcd"},
		{"1", "lowest", "c: lock", "it has clients of single members of etcd"},
		{"1", "any", "{gcsim: save etcd}, {c: lock}", ""},
		{"1", "any", "{gcsim: save etcd}, {gcsim: restore etcd}", "it restores etcd from a snapshot"},
	} {
		s := parse(t, strings.NewReplacer("%1", tt.members, "%2", tt.member, "%3", tt.steps).Replace(tale))
		if got := s.Variants[0].Needs(); got != tt.want {
			t.Errorf("%v: got %q", tt, got)
		}
	}
}

// TestScenariosTeach holds the scenarios that gcsim brings with it to what each
// must have.
func TestScenariosTeach(t *testing.T) {
	for name, s := range all(t) {
		if s.Lesson == "" || s.Source == "" {
			t.Errorf("%s: has no lesson or no source", name)
		}
	}
}

func all(t *testing.T) map[string]*scenario.Scenario {
	files, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	list := make(map[string]*scenario.Scenario)
	for _, file := range files {
		data, err := fs.ReadFile(scenarios.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		if list[file], err = scenario.Parse(file, strings.TrimSuffix(file, ".yaml"), data); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
