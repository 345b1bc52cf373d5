package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// The main story, as it was run.
var mainHistories = []string{filepath.Join("testdata", "fenced.jsonl"), filepath.Join("testdata", "unfenced.jsonl")}

// TestMainStoryGolden: what somebody sees who types gcsim for the first time, from
// the first word to the last.
func TestMainStoryGolden(t *testing.T) {
	t.Setenv("LANG", "en_GB.UTF-8")
	for file, args := range map[string][]string{
		"main.120.txt": {"--width", "120"},
		"main.80.txt":  {"--width", "80"},
		"main.50.txt":  {"--width", "50"},
		"main.40.txt":  {"--width", "40"},
		"main.ascii":   {"--ascii"},
	} {
		status, got, wrong := gcsim(t, append(append([]string{"replay"}, args...), mainHistories...)...)
		if status != 0 {
			t.Fatalf("%s: exit status %d: %s", file, status, wrong)
		}
		golden.Check(t, filepath.Join("testdata", file), got)
		if lines := strings.Count(got, "\n"); file == "main.80.txt" && lines > 2*24 {
			t.Errorf("%d lines, which do not fit two screens of 24", lines)
		}
	}
}

// TestEnvironmentIsObeyed: also where nobody looks at a terminal.
func TestEnvironmentIsObeyed(t *testing.T) {
	want := func(name string, wide, plain bool) {
		t.Helper()
		_, got, _ := gcsim(t, append([]string{"replay"}, mainHistories...)...)
		longest := 0
		for line := range strings.SplitSeq(got, "\n") {
			longest = max(longest, len([]rune(line)))
		}
		ascii := !strings.ContainsFunc(got, func(r rune) bool { return r > 0x7f })
		if longest > 80 != wide || ascii != plain {
			t.Errorf("%s: lines of up to %d, ASCII alone: %v, in\n%s", name, longest, ascii, got)
		}
	}
	t.Setenv("LC_ALL", "")
	t.Setenv("LC_CTYPE", "")
	t.Setenv("LANG", "de_DE.utf8")
	t.Setenv("COLUMNS", "")
	want("nothing", false, false)
	t.Setenv("COLUMNS", "150")
	want("COLUMNS", true, false)
	t.Setenv("LANG", "C")
	want("LANG=C", true, true)
	t.Setenv("LC_CTYPE", "C.UTF-8")
	want("LC_CTYPE is before LANG", true, false)
	t.Setenv("LC_ALL", "POSIX")
	want("LC_ALL is before both", true, true)
}

func TestReplayRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"standard input is no terminal": {"--step"},
		"choose one":                    {"--step", "--slow"},
		"want --slow of more than 0":    {"--slow=-1s"},
		"want --width from 40 to 1000":  {"--width", "39"},
		"got 1001":                      {"--width", "1001"},
	} {
		// Nothing of that name can be run, so that no world is started where nothing is refused.
		for _, command := range [][]string{append([]string{"replay"}, mainHistories...), {"run", "no-such-scenario"}} {
			if status, printed, wrong := gcsim(t, append(command, args...)...); status != exitCannot || !strings.Contains(wrong, want) || printed != "" {
				t.Errorf("%s %v: exit status %d, %q, want %q", command[0], args, status, wrong, want)
			}
		}
	}
	broken := inFile(t, t.TempDir(), "broken", cannotBeJudged())
	if status, printed, wrong := gcsim(t, "replay", broken); status != exitCannot || !strings.Contains(printed, "not judged") || !strings.Contains(wrong, "cannot be judged") {
		t.Errorf("a history that cannot be judged: exit status %d, %q\n%s", status, wrong, printed)
	}
}

// TestSlow: the time before each event is kept, and who stops the story is obeyed.
func TestSlow(t *testing.T) {
	for _, flag := range []string{"--slow=1us", "--fast"} {
		if status, got, wrong := gcsim(t, "replay", flag, mainHistories[0]); status != 0 || !strings.Contains(got, "client2's write is safe") {
			t.Errorf("%s: exit status %d, %s:\n%s", flag, status, wrong, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := pace{slow: time.Hour}
	cmd := replayCommand()
	cmd.SetContext(ctx)
	wait, err := p.wait(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := wait(story.Row{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDecisive: from the end of a lease on each event waits, until somebody is stopped again.
func TestDecisive(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that who waits is told, and nobody waits
	wait := decisive(ctx)
	for i, tt := range []struct {
		class story.Class
		waits bool
	}{
		{story.ClassGrant, false}, {story.ClassPause, false},
		{story.ClassExpiry, true}, {story.ClassGrant, true}, {story.ClassHarm, true}, {story.ClassFinal, true},
		{story.ClassPause, false}, {story.ClassNote, false}, {story.ClassExpiry, true},
	} {
		if err := wait(story.Row{Class: tt.class}); (err != nil) != tt.waits {
			t.Errorf("event %d, %s: got %v, it waits: %v", i, tt.class.Name, err, tt.waits)
		}
	}
}

// TestSteps: each line lets one event be told; the question goes away; at the end of
// the input all the others are told.
func TestSteps(t *testing.T) {
	in, enter := io.Pipe()
	var asked bytes.Buffer
	wait := steps(t.Context(), in, &asked)
	told := make(chan error)
	go func() {
		for range 4 {
			told <- wait()
		}
		close(told)
	}()
	next := func() {
		t.Helper()
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		select {
		case <-told:
			t.Fatal("told before Enter")
		default:
		}
		if _, err := io.WriteString(enter, "\n"); err != nil {
			t.Fatal(err)
		}
		next()
	}
	enter.Close()
	next()
	next()
	const ask = "Enter: go on"
	if got, want := asked.String(), strings.Repeat(ask+"\x1b[A"+eraseLine, 2)+ask+eraseLine; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	ctx, cancel := context.WithCancel(t.Context())
	never, _ := io.Pipe()
	wait = steps(ctx, never, io.Discard)
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("of a story that was stopped: %v", err)
	}
}
