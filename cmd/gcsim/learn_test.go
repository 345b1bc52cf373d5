package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/cli"
)

// TestLearn: the lessons are listed, and an exercise is set up where nothing is in its way.
func TestLearn(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("lesson-03", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arg, want string
		code      int
	}{
		{"1", "\nWhat a story can say:\nhttps://github.com/fencelab/fencelab/blob/main/docs/course/README.md#a-story-on-one-card\n", 0},
		{"2", "Written: lesson-02/story.yaml", 0},
		{"3", "", exitCannot}, // a file is in the way
		{"0", "", exitCannot},
		{"two", "", exitCannot},
	} {
		var out bytes.Buffer
		root := command()
		root.SetArgs([]string{"learn", c.arg})
		root.SetOut(&out)
		code := 0
		var exit *cli.ExitError
		if err := root.Execute(); errors.As(err, &exit) {
			code = exit.Code
		}
		if code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("gcsim learn %s: status %d, want %d and %q in\n%s", c.arg, code, c.code, c.want, out.String())
		}
	}
	if err := os.Remove("lesson-03"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("lesson-01/solved", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := command()
	root.SetArgs([]string{"learn"})
	root.SetOut(&out)
	if err := root.Execute(); err != nil || !strings.Contains(out.String(), " solved: lesson-01\n 2. The token ") || !strings.Contains(out.String(), " begun: lesson-02\n") {
		t.Errorf("gcsim learn: %v\n%s", err, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 80 && !strings.Contains(line, "https://") {
			t.Errorf("gcsim learn: more than 79 columns: %q", line)
		}
	}
}

// TestUnlocked: a change of a client whose lease is over was lucky; one that the storage refused, or a read, was not.
func TestUnlocked(t *testing.T) {
	granted := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: "c", Tenure: "t", Scope: "/l", Token: 2}
	over := history.Event{Lane: "etcd", Kind: history.KindEnded, Client: "c", Tenure: "t", Scope: "/l", Cause: history.CauseExpired}
	by := func(kind history.Kind, op string) history.Event {
		return history.Event{Lane: history.LaneStorage, Kind: kind, Client: "c", Op: op, Key: "k"}
	}
	write := by(history.KindApplied, history.OpWrite)
	for name, c := range map[string]struct {
		events []history.Event
		want   bool
	}{
		"held":    {[]history.Event{granted, write, over}, false},
		"over":    {[]history.Event{granted, over, write}, true},
		"refused": {[]history.Event{granted, over, by(history.KindRefused, history.OpWrite)}, false},
		"a read":  {[]history.Event{granted, over, by(history.KindApplied, history.OpRead)}, false},
	} {
		if got := unlocked(c.events); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
