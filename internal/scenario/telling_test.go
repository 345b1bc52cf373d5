package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
)

const twoClients = `
title: Two clients
clients:
  client1: {lock: /lock}
  client2: {lock: /lock}
steps:
  - client1: lock
variants:
  fenced: {expect: {verdict: safe}}
`

func tell(t *testing.T, text string) *scenario.Telling {
	t.Helper()
	s := parse(t, text)
	return language.Tell(s, &s.Variants[0])
}

// TestTakeLooksWhereTheStoryStands: a step that cannot happen now is refused, and the
// story stands where it stood.
func TestTakeLooksWhereTheStoryStands(t *testing.T) {
	told := tell(t, twoClients)
	for _, step := range []struct{ line, wrong string }{
		{"client1: finish", "client1 has begun nothing here"},
		{"client1: lock", ""},
		{"client1: begin write key0=a", ""},
		{"client1: write key0=b", "client1 is in the middle of what it has begun"},
		{"gcsim: resume client1", "client1 does not stand still here"},
		{"gcsim: pause client1", ""},
		{"client1: finish", "client1 stands still here (pause)"},
		{"client3: lock", `unknown actor "client3"`},
		{"client2: lok", `a client cannot "lok": did you mean lock?`},
		{"client2: lock /other", `this world has no lock "/other"`},
		{"gcsim: pause leader", `"pause leader" is a fault of etcd for which this world is not made`},
		{"client2: write key0=a\nclient1: lock", "a step is one line"},
		{"client2", `"client2" is no step`},
		{"gcsim: kill storage", ""},
		{"etcd: await expiry of client1", ""},
	} {
		_, err := told.Take(step.line)
		switch {
		case step.wrong == "" && err != nil, step.wrong != "" && (err == nil || !strings.Contains(err.Error(), step.wrong)):
			t.Errorf("%q: got %v, want %q", step.line, err, step.wrong)
		}
	}
	var got []string
	for _, step := range told.Told() {
		got = append(got, step.String())
	}
	want := []string{"client1: lock", "client1: begin write key0=a", "gcsim: pause client1", "gcsim: kill storage", "etcd: await expiry of client1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := told.CanEnd(); err == nil || !strings.Contains(err.Error(), "the storage dead") {
		t.Errorf("the story can end: %v", err)
	}
}

// TestChoices: what a person needs for the main story is among the choices, one after the
// other, and what cannot be is not. The steps of each scenario can be taken as they are
// written.
func TestChoices(t *testing.T) {
	has := func(told *scenario.Telling, line string) bool {
		return slices.ContainsFunc(told.Choices(), func(c scenario.Choice) bool { return c.Step.String() == line })
	}
	told := tell(t, twoClients)
	for _, step := range []string{
		"client1: lock within 10s", "client1: begin write key0=client1-1", "gcsim: pause client1",
		"client2: lock within 10s", "client2: write key0=client2-1", "gcsim: resume client1", "client1: finish",
	} {
		if !has(told, step) {
			t.Errorf("%q is no choice", step)
		}
		if _, err := told.Take(step); err != nil {
			t.Error(err)
		}
		if has(told, "gcsim: pause client1") && has(told, "gcsim: resume client1") {
			t.Error("client1 can be stopped, and go on")
		}
	}
	for _, s := range labtest.Shipped(t, language) {
		told := language.Tell(s, &s.Variants[0])
		for _, step := range s.Variants[0].Steps {
			if _, err := told.Take(step.String()); err != nil {
				t.Errorf("%s: the plan: %v", s.Name, err)
			}
		}
	}
}

// TestFormat: what is written reads as what was written, of each variant there is.
func TestFormat(t *testing.T) {
	for _, s := range labtest.Shipped(t, language) {
		for i := range s.Variants {
			v := &s.Variants[i]
			text, err := language.Format(s, v, v.Steps, v.Expect.Verdict)
			if err != nil {
				t.Fatal(err)
			}
			read, err := language.Parse(s.Name+".yaml", s.Name, text)
			if err != nil {
				t.Errorf("%s %s: %v\n%s", s.Name, v.Name, err, text)
				continue
			}
			ignore := cmp.Options{
				cmpopts.IgnoreFields(scenario.Step{}, "Form", "Line", "Column", "Name"),
				cmpopts.IgnoreFields(scenario.Variant{}, "Expect", "Control"),
				cmpopts.IgnoreFields(scenario.Scenario{}, "Variants", "Together"),
				cmpopts.EquateEmpty(),
			}
			if diff := cmp.Diff(*v, read.Variants[0], ignore); diff != "" {
				t.Errorf("%s %s:\n%s\n%s", s.Name, v.Name, diff, text)
			}
			if diff := cmp.Diff(s, read, ignore); diff != "" {
				t.Errorf("%s %s:\n%s\n%s", s.Name, v.Name, diff, text)
			}
		}
	}
}

// TestChoicesInVain: a client's sends are choices while it stands still, or while its
// network waits, and a retry never is.
func TestChoicesInVain(t *testing.T) {
	sends := func(told *scenario.Telling) (n int) {
		for _, c := range told.Choices() {
			if c.Step.Verb == scenario.Retry {
				t.Errorf("%q is a choice", c.Step)
			}
			if c.Step.Send {
				n++
			}
		}
		return n
	}
	told := tell(t, twoClients)
	for _, step := range []struct {
		line  string
		sends bool
	}{
		{"client1: write key0=a", false},
		{"client1: begin write key0=b", false},
		{"gcsim: pause client1", true},
		{"gcsim: resume client1", false},
		{"gcsim: delay client1 to storage", true},
	} {
		if _, err := told.Take(step.line); err != nil {
			t.Fatal(err)
		}
		if n := sends(told); n > 0 != step.sends {
			t.Errorf("after %q there are %d sends", step.line, n)
		}
	}
}
