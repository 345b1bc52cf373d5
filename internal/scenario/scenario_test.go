package scenario_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/all"
)

// language is that of gcsim.
var language = lab.Language(all.Named)

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
	s, err := language.Parse("s.yaml", "s", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParse: a file that has everything.
func TestParse(t *testing.T) {
	s := parse(t, text(t, "testdata/full.yaml"))
	client := func(lock string, chosen ...string) scenario.Client {
		values := setting.Values{
			"lock": lock, "command": "", "ttl": "1s", "timeout": "5s", "token": "revision", "scope": "lock", "member": "any",
			"keepalive": "0s", "keepalive-timeout": "20s", "by": "etcdlock", "collector": "serial", "ahead": "0s",
			"session": "own", "mode": "exclusive", "claims": "by-mode", "look": "begin", "reads": "fenced", "numbered": "false", "change": "batch", "delay": "0s",
		}
		for _, c := range chosen {
			name, text, _ := strings.Cut(c, ": ")
			values[name] = text
		}
		return scenario.Client{Lock: lock, Values: values}
	}
	many := []string{"ttl: 2m", "timeout: 500ms", "token: header", "scope: key", "member: lowest", "session: kept", "look: is-owner", "reads: plain", "numbered: true", "change: singly", "delay: 3s"}
	defaults, first := client("/lock"), client("/a", many...)
	changed := client("/a", append(many, "token: lease", "delay: 1s", "numbered: false")...)
	shared := client("/lock", "token: max", "session: client1", "delay: 1s")
	plainWorld := scenario.World{
		Service: "etcd", Settings: setting.Values{"members": "1", "restore": "plain"},
		Storage: scenario.Storage{In: "process", Engine: "memory", Fencing: "on", Bound: "none"},
	}
	setWorld := scenario.World{
		Service: "etcd", Settings: setting.Values{"members": "3", "restore": "bumped"},
		Storage: scenario.Storage{In: "process", Engine: "bolt", Fencing: "off", Bound: "issuer"},
		Pauses:  1,
	}
	zero, two, no, yes := 0, 2, false, true
	step := func(line int, text string, verb scenario.Verb, key, value string) scenario.Step {
		return scenario.Step{Text: text, Actor: "client1", Client: "client1", Verb: verb, Key: key, Value: value, Line: line, Column: 5}
	}
	fault := func(line int, text, client string) scenario.Step {
		verb, _, _ := strings.Cut(text, " ")
		return scenario.Step{Text: text, Actor: "gcsim", Client: client, Verb: scenario.Verb(verb), Line: line, Column: 5}
	}
	change := step(22, "begin change b=1=1 a=", "begin", "", "")
	change.Changes = []history.Change{{Key: "b", Value: "1=1"}, {Key: "a", Value: ""}}
	finish := step(24, "send finish", "finish", "", "")
	finish.Send = true
	pause, deafen := fault(23, "pause client1 for 6s", "client1"), fault(26, "deafen client1 to storage", "client1")
	pause.For, deafen.Other = 6*time.Second, "storage"
	steps := []scenario.Step{
		step(20, "write k=a=b  c #1", "write", "k", "a=b  c #1"), step(21, "read k", "read", "k", ""), change,
		pause, finish, fault(25, "await client1", "client1"), deafen, fault(27, "kill storage", "storage"), fault(28, "restart storage", "storage"),
	}
	want := &scenario.Scenario{
		Name: "s", Title: "A title", Lesson: "What happens.\n\nAnd why.", Helps: "what helps", Source: "one; two",
		Clients: []string{"client1", "client2"}, Together: [][]string{{"b", "a"}},
		Variants: []scenario.Variant{
			{
				Name: "z", Own: "it has clients of single members of etcd", World: plainWorld, Clients: map[string]scenario.Client{"client1": first, "client2": defaults}, Steps: steps,
				Expect: history.Expect{Verdict: "blocked", Stale: &zero, Refused: &two, Ordered: &no, Exclusive: &yes, Fair: &no, Fenced: &yes, Final: map[string]string{"a": "", "b": "1=1", "k": "a=b  c #1"}},
			},
			{
				Name: "a", About: "what sets it apart", Control: true, Own: "it wants 3 etcd members and has clients of single members of etcd", World: setWorld,
				Clients: map[string]scenario.Client{"client1": changed, "client2": shared},
				Steps: []scenario.Step{
					{Text: "lock", Actor: "client1", Client: "client1", Verb: "lock", Line: 49, Column: 9},
					{Text: "count counter 40", Actor: "clients", Client: "clients", Verb: "count", Key: "counter", Times: 40, Line: 50, Column: 9},
				},
				Expect: history.Expect{Verdict: "corrupted", Final: map[string]string{"counter": "80"}},
			},
		},
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreFields(scenario.Step{}, "Form", "ID")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "k"}, s.Variants[0].Keys()); diff != "" {
		t.Error(diff)
	}
}

// TestCommands: a client can be a program of the user's, in a variant as well.
func TestCommands(t *testing.T) {
	s := parse(t, `title: t
clients:
  c: {lock: /l, command: [python3, my client.py, 8080, "a \"b\""]}
  d: {lock: /l}
steps: [c: lock]
variants:
  v: {expect: {verdict: safe}}
  w: {set: {clients.*.command: [node, client.js]}, expect: {verdict: safe}}
`)
	node := scenario.Command{Words: []string{"node", "client.js"}, Line: 8, Column: 32}
	for i, want := range []map[string]scenario.Command{
		{"c": {Words: []string{"python3", "my client.py", "8080", `a "b"`}, Line: 3, Column: 26}, "d": {}},
		{"c": node, "d": node},
	} {
		for name, command := range want {
			if diff := cmp.Diff(command, s.Variants[i].Clients[name].Command); diff != "" {
				t.Errorf("%s, %s: %s", s.Variants[i].Name, name, diff)
			}
		}
	}
}

// TestLocksOfSteps: which lock a step names, and what is left for the rest.
func TestLocksOfSteps(t *testing.T) {
	s := parse(t, `title: t
clients: {c: {lock: /l}}
steps:
- c: lock
- c: lock /m
- c: lock /n within 500ms
- c: write a=b
- c: write a=b under /m
- c: write a= under c  under /n
- c: write a=b under
- c: change a=1 b= under /l
- c: send delete under under /m
- c: unlock /n
- etcd: await expiry of c under /m
- c: begin write under=x under /l
variants: {v: {control: true, expect: {verdict: blocked}}}
`)
	var got []string
	for _, step := range s.Variants[0].Steps {
		said := []string{step.Lock, step.Key, step.Value}
		for _, c := range step.Changes {
			said = append(said, c.Key, c.Value)
		}
		got = append(got, strings.Join(said, "|")+"|"+step.For.String())
	}
	want := []string{
		"|||0s", "/m|||0s", "/n|||500ms", "|a|b|0s", "/m|a|b|0s", "/n|a| under c |0s", "|a|b under|0s", "/l|||a|1|b||0s",
		"/m|under||0s", "/n|||0s", "/m|||0s", "/l|under|x|0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	v := &s.Variants[0]
	if own, other := v.LockOf(v.Steps[0]), v.LockOf(v.Steps[1]); own != "/l" || other != "/m" {
		t.Errorf("the steps take %s and %s", own, other)
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
		s, err := language.Parse("new.yaml", "new", scenario.Template(name))
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
	first := *language // of whose service the template is
	first.Services = language.Services[:1]
	_, values := words(t, &first)
	for key, of := range values {
		for _, v := range append(of, key) {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(v) + `\b`).Match(scenario.Template("22-mine")) {
				t.Errorf("the template says nothing of %q, of %s", v, key)
			}
		}
	}
}

func TestOwn(t *testing.T) {
	const tale = "title: t\nworld: {etcd: {members: %1}}\nclients: {c: {lock: /l, member: %2}}\nsteps: [%3]\nvariants: {v: {control: true, expect: {verdict: blocked}}}\n"
	for _, tt := range []struct{ members, member, steps, want string }{
		{"1", "any", "c: lock", ""},
		{"3", "any", "c: lock", "it wants 3 etcd members"},
		{"3", "leader", "{gcsim: pause leader}, {gcsim: resume leader}, {gcsim: pause leader}", "it wants 3 etcd members, has clients of single members of etcd and stops etcd's leader"},
		{"1", "lowest", "c: lock", "it has clients of single members of etcd"},
		{"1", "any", "{gcsim: save etcd}, {c: lock}", ""},
		{"1", "any", "{gcsim: save etcd}, {gcsim: restore etcd}", "it restores etcd from a snapshot"},
	} {
		s := parse(t, strings.NewReplacer("%1", tt.members, "%2", tt.member, "%3", tt.steps).Replace(tale))
		if got := s.Variants[0].Own; got != tt.want {
			t.Errorf("%v: got %q", tt, got)
		}
	}
}

// TestScenariosTeach holds the scenarios that gcsim brings with it to what each
// must have.
func TestScenariosTeach(t *testing.T) {
	for _, s := range labtest.Shipped(t, language) {
		if s.Lesson == "" || s.Source == "" {
			t.Errorf("%s: has no lesson or no source", s.Name)
		}
		if !slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool { return v.Control }) {
			t.Errorf("%s: has no control", s.Name)
		}
	}
}

// TestFound: a read finds what a step can have written, or nothing.
func TestFound(t *testing.T) {
	for outcome, want := range map[string]string{
		"found 1": "", "found nothing": "", "failed": "", "found 2": `s:8:66: "k" cannot hold "2": steps write "1" there`,
	} {
		_, err := language.Parse("s", "s", []byte(`title: t
clients: {client1: {lock: /l}}
steps:
  - client1: write k=1
  - client1: read k
    name: look
variants:
  only: {control: true, expect: {verdict: blocked, steps: {look: `+outcome+`}}}
`))
		if got := strings.SplitN(fmt.Sprint(err), "\n", 2)[0]; want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: got %v, want %q", outcome, err, want)
		}
	}
}
