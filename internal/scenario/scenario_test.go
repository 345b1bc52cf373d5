package scenario_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/scenarios"
)

const good = `title: A title
clients:
  client1: {lock: /lock}
  client2: {lock: /lock, ttl: 2s, token: lease}
steps:
  - client1: lock
  - gcsim: pause client1
  - etcd: await expiry of client1
  - client2: write key0=a=b c
  - gcsim: resume client1
variants:
  fenced:
    expect: {verdict: safe, stale: 1, final: {key0: x}}
  unfenced:
    control: true
    set: {storage.fencing: off, clients.client1.token: lease}
    expect: {verdict: corrupted}
`

func TestParse(t *testing.T) {
	s, err := scenario.Parse("dir/01-good.yaml", "01-good", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"client1", "client2"}, s.Clients); diff != "" {
		t.Error(diff)
	}
	var steps []string
	for _, step := range s.Variants[0].Steps {
		steps = append(steps, step.String())
	}
	want := []string{
		"client1: lock", "gcsim: pause client1", "etcd: await expiry of client1",
		"client2: write key0=a=b c", "gcsim: resume client1",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
	if got := s.Variants[0].Steps[3]; got.Key != "key0" || got.Value != "a=b c" || got.Line != 9 {
		t.Errorf("step 4: %+v", got)
	}
	one := 1
	fenced, control := s.Variants[0], s.Variants[1]
	if diff := cmp.Diff(history.Expect{Verdict: "safe", Stale: &one, Final: map[string]string{"key0": "x"}}, fenced.Expect); diff != "" {
		t.Error(diff)
	}
	if fenced.Control || fenced.World.Storage.Fencing != "on" || fenced.Clients["client1"].Token != "revision" || fenced.Clients["client1"].TTL.Seconds() != 1 {
		t.Errorf("fenced: %+v", fenced)
	}
	if !control.Control || control.World.Storage.Fencing != "off" || control.Clients["client1"].Token != "lease" {
		t.Errorf("control: %+v", control)
	}
}

// TestErrorsSayWhere changes one line of a good file. The error must name the
// place and say what is wrong.
func TestErrorsSayWhere(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"title: A title", "titel: A title", `s.yaml:1:1: unknown field "titel"`},
		{"title: A title", "title: [", "s.yaml:1:"},
		{"title: A title\n", "", `"title" is missing`},
		{"ttl: 2s", "ttl: 2", "s.yaml:4:"},
		{"ttl: 2s", "ttl: 1500ms", `s.yaml:4:3: client2: "ttl" is 1.5s, but etcd's leases have whole seconds from 1`},
		{"ttl: 2s", "tll: 2s", `s.yaml:4:26: unknown field "tll"`},
		{"token: lease}\n", "token: header}\n", `s.yaml:4:3: unknown kind of token "header", want revision or lease`},
		{"client1: {lock: /lock}", "client1: {}", `s.yaml:3:3: client1: "lock" is missing`},
		{"client1: {lock: /lock}", "Client1: {lock: /lock}", `s.yaml:3:3: "Client1" is no name for a client`},
		{"client1: {lock: /lock}", "storage: {lock: /lock}", `s.yaml:3:3: no client can be called "storage"`},
		{"  client2: {lock", "  client1: {lock", `s.yaml:4:3: mapping key "client1" already defined`},
		{"- client1: lock", "- client3: lock", `s.yaml:6:5: unknown actor "client3", want etcd, gcsim or a client: client1, client2`},
		{"- client1: lock", "- client1: locks", `s.yaml:6:14: a client cannot "locks", only lock, trylock, unlock, read, write, delete, begin, finish`},
		{"- client1: lock", "- client1: lock /other", `"/other" is too much`},
		{"- client1: lock", "- client1: [lock]", `s.yaml:6:14: want a text`},
		{"- client1: lock", "-", "s.yaml:6:4: a value is missing here"},
		{"lock: /lock, ttl: 2s", "lock: , ttl: 2s", "s.yaml:4:18: a value is missing here"},
		{"client1: {lock: /lock}", "client1: &c {lock: /lock}", "no tags, anchors"},
		{"- client1: lock", "- lock", `s.yaml:6:5: want a mapping`},
		{"- client1: lock", "- client1: read", "read of which key?"},
		{"- client1: lock", "- client1: write key0", "want \"write KEY=VALUE\""},
		{"- client1: lock", "- client1: write =x", "write of which key?"},
		{"- client1: lock", "- client1: begin key0=x", "want \"begin write KEY=VALUE\""},
		{"- client1: lock", "- client1: finish", "s.yaml:6:14: client1 has begun no write here"},
		{"- client1: lock", "- client2: begin write key0=x", "s.yaml:9:14: client2 has begun a write"},
		{"gcsim: pause client1", "gcsim: pause client9", `s.yaml:7:12: unknown client "client9"`},
		{"gcsim: pause client1", "gcsim: freeze client1", `gcsim cannot "freeze"`},
		{"gcsim: pause client1", "client1: unlock", "s.yaml:10:12: client1 is not paused here"},
		{"gcsim: pause client1", "gcsim: kill client1", "s.yaml:10:12: client1 was killed before"},
		{"gcsim: pause client1", "gcsim: gc client1", `it needs a step "gcsim: load client1" before`},
		{"client2: write key0=a=b c", "client1: write key0=x", "s.yaml:9:14: client1 stands still here (pause), it can do nothing"},
		{"await expiry of client1", "await the end", `etcd cannot "await the end", only "await expiry of CLIENT"`},
		{"    control: true\n", "", "0 variants have \"control: true\", want exactly one"},
		{"  fenced:\n", "  ../fenced:\n", `s.yaml:12:3: "../fenced" is no name for a variant`},
		{"verdict: safe", "verdict: fine", `s.yaml:13:23: unknown verdict "fine", want safe or corrupted or blocked`},
		{"stale: 1", "stale: many", "s.yaml:13:"},
		{"stale: 1", "stale: -1", "expects -1 stale requests"},
		{"expect: {verdict: corrupted}", "expect: {}", `variant "unfenced" expects no verdict`},
		{"storage.fencing: off", "storage.fencing: maybe", `unknown storage.fencing "maybe", want on or off`},
		{"title: A title", "title: A title\nworld: {storage: {engine: paper}}", `unknown storage engine "paper", want memory or bolt`},
		{"title: A title", "title: A title\nworld: {etcd: {members: 3}}", `wants 3 etcd members, and only 1 can be had`},
		{"storage.fencing: off", "storage.fences: off", `s.yaml:16:11: cannot set "storage.fences"`},
		{"clients.client1.token", "clients.client7.token", `unknown client "client7"`},
		{"token: lease}\n    expect", "token: best}\n    expect", `unknown kind of token "best"`},
	} {
		if strings.Count(good, tt.from) == 0 {
			t.Fatalf("the good file has no %q", tt.from)
		}
		_, err := scenario.Parse("s.yaml", "s", []byte(strings.Replace(good, tt.from, tt.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q → %q: got error\n%v\nwant %s", tt.from, tt.to, err, tt.want)
		}
	}
}

func TestNoDocument(t *testing.T) {
	for _, data := range []string{"", "\n", "# nothing\n", "a: b\n---\nc: d\n", "[]", "text"} {
		if _, err := scenario.Parse("s.yaml", "s", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%q: got %v, want an error that names the file", data, err)
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
		for _, v := range s.Variants {
			if v.Control == (v.Expect.Verdict == history.Safe) {
				t.Errorf("%s %s: control %v, expected verdict %s: a control fails, the others do not", name, v.Name, v.Control, v.Expect.Verdict)
			}
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
		s, err := scenario.Parse(file, strings.TrimSuffix(file, ".yaml"), data)
		if err != nil {
			t.Fatal(err)
		}
		list[file] = s
	}
	return list
}

// FuzzParse: whatever the file holds, there is a scenario or an error that names
// the file, and no panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	if data, err := os.ReadFile("../../scenarios/02-gc-pause-real.yaml"); err == nil {
		f.Add(data)
	}
	f.Add([]byte("steps: [{gcsim: pause client1}, {: }]"))
	f.Add([]byte("clients: &a {c: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scenario.Parse("s.yaml", "s", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("got %v and %v", s, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Fatalf("the error does not name the file: %v", err)
		}
		if s != nil && (s.Title == "" || len(s.Variants[0].Steps) == 0 || len(s.Variants) == 0) {
			t.Fatalf("incomplete: %+v", s)
		}
	})
}
