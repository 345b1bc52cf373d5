package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestScenariosAreFoundByNumberAndName(t *testing.T) {
	for _, arg := range []string{"1", "01", "gc-pause", "01-gc-pause"} {
		if list, err := load([]string{arg}); err != nil || len(list) != 1 || list[0].Name != mainStory {
			t.Errorf("%s: %d scenarios (%v), want %s", arg, len(list), err, mainStory)
		}
	}
	for _, arg := range []string{"", "0", "001", "gc"} {
		if _, err := load([]string{arg}); err == nil || !strings.Contains(err.Error(), "gcsim list") {
			t.Errorf("%q: %v, want where to find the names", arg, err)
		}
	}
}

// TestExplainToAFullDisk: what could not be printed is no success.
func TestExplainToAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := command()
	cmd.SetOut(full)
	cmd.SetArgs([]string{"explain", "1"})
	if err := cmd.Execute(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want %v", err, syscall.ENOSPC)
	}
}

func TestParagraphsBreakBetweenWordsOnly(t *testing.T) {
	var out bytes.Buffer
	prose{w: &out, width: 20}.paragraph("  ", "at the\nend key0=from-client-2, and a-word-that-is-longer-than-a-line.")
	want := "  at the end\n  key0=from-client-2,\n  and\n  a-word-that-is-longer-than-a-line.\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestExplainLeadsOn: to the run, and to the chapter; a scenario of one's own has none.
func TestExplainLeadsOn(t *testing.T) {
	_, got, _ := gcsim(t, "explain", "gc-pause")
	for _, want := range []string{"\nRun it:\n  gcsim run gc-pause\n", "\nIts chapter:\n  https://github.com/fencelab/fencelab/blob/main/docs/01-gc-pause.md\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	source, err := os.ReadFile("../../scenarios/etcd/01-gc-pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, source, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, got, _ = gcsim(t, "explain", file); strings.Contains(got, "chapter") || !strings.Contains(got, "gcsim run "+file) {
		t.Errorf("got\n%s", got)
	}
	t.Chdir("../..") // where the chapters are
	if _, got, _ = gcsim(t, "explain", "1"); !strings.Contains(got, "\n  docs/01-gc-pause.md\n") || !strings.Contains(got, "\n  go run ./cmd/gcsim run 1\n") {
		t.Errorf("in a clone: got\n%s", got)
	}
}

// TestNamesAreCompleted: a shell offers the names of scenarios, and files.
func TestNamesAreCompleted(t *testing.T) {
	for _, command := range []string{"run", "explain"} {
		_, got, _ := gcsim(t, "__complete", command, "gc-pause")
		for _, want := range []string{"gc-pause\tA paused lock holder wakes up", "gc-pause-real\t", ":0\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", command, want, got)
			}
		}
	}
}
