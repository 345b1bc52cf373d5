package main

import (
	"bytes"
	"errors"
	"os"
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
