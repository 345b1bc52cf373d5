package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
)

// TestPrepareSaysAtOnce: what cannot be written is no news after the runs, and a
// look leaves nothing and changes nothing.
func TestPrepareSaysAtOnce(t *testing.T) {
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	dir := t.TempDir()
	old := filepath.Join(dir, "old.xml")
	if err := os.WriteFile(old, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]reports{
		"a directory for --junit":                              {junit: dir},
		"a place for --junit that is no directory":             {junit: filepath.Join(old, "new.xml")},
		"a directory for --junit where nothing can be written": {junit: "/proc/new.xml"},
		"a file for -o": {out: old},
		"a directory for -o where nothing can be written": {out: "/proc"},
	} {
		if o.prepare(nil) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	t.Setenv("GITHUB_STEP_SUMMARY", dir)
	if err := (reports{}).prepare(nil); err == nil || !strings.Contains(err.Error(), "GITHUB_STEP_SUMMARY") {
		t.Errorf("a directory for the summary: %v, want an error that says who named it", err)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", old)
	for _, junit := range []string{old, filepath.Join(dir, "reports", "new.xml"), os.DevNull} {
		if err := (reports{out: filepath.Join(dir, "out"), junit: junit}).prepare(nil); err != nil {
			t.Error(err)
		}
	}
	if got, want := tree(t, dir), []string{".", "old.xml", "out", "reports"}; !slices.Equal(got, want) {
		t.Errorf("there is now %q, want %q", got, want)
	}
	if b, err := os.ReadFile(old); string(b) != "old" {
		t.Errorf("a file that is there already now holds %q (%v)", b, err)
	}
}

// TestRoomIsMadeOfOwnFiles: the files of older runs go, in all rounds; those that
// somebody put beside them stay.
func TestRoomIsMadeOfOwnFiles(t *testing.T) {
	out := t.TempDir()
	for _, name := range []string{
		"index.html", "notes.txt", "one/index.html", "one/x/history.jsonl", "one/x/3/verdict.json", "one/x/3/timeline.svg", "one/x/3/timeline-narrow.svg",
		"one/x/4/porcupine.html", "one/x/4/seen.txt", "one/y/notes.txt", "one/z/history.jsonl",
	} {
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var runs []story.Result
	for _, j := range plan([]*scenario.Scenario{scenarioOf("one", scenario.Lock, "x", "y", "new")}, 2, lab.Options{}) {
		runs = append(runs, j.result())
	}
	if err := makeRoom(out, runs); err != nil {
		t.Fatal(err)
	}
	want := []string{
		".", "notes.txt", "one", "one/x", "one/x/4", "one/x/4/seen.txt", "one/y", "one/y/notes.txt",
		"one/z", "one/z/history.jsonl", // nobody runs it now
	}
	if got := tree(t, out); !slices.Equal(got, want) {
		t.Errorf("there is now %q, want %q", got, want)
	}
}

// TestPageOfAllIsSmall: whoever opens the page about all scenarios waits for no picture.
func TestPageOfAllIsSmall(t *testing.T) {
	list, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	var results []story.Result
	for _, j := range plan(list, 1, lab.Options{}) {
		s, v, r := j.scenario, j.variant, j.result()
		r.Outcome = story.Outcome{Name: v.Expect.WantedVerdict(), OK: true}
		r.Events = []history.Event{{Kind: history.KindRun, Run: &history.Run{
			Scenario: s.Name, Title: s.Title, Lesson: s.Lesson, Helps: s.Helps, Source: s.Source, Variant: v.Name, About: v.About, Control: v.Control,
		}}}
		results = append(results, r)
	}
	var out bytes.Buffer
	if err := page.Index(&out, results, chapterAddress); err != nil {
		t.Fatal(err)
	}
	if size, most := out.Len(), 1000*len(results); size > most || size < most/3 {
		t.Errorf("%d bytes for %d runs, want the scenarios' texts and at most %d", size, len(results), most)
	}
}

// TestUnfinishedFileIsRemoved: half a file is worse than none, but a pipe, or a
// device such as /dev/full, is not gcsim's to remove.
func TestUnfinishedFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that nobody waits for one
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	broken := errors.New("broken")
	for _, name := range []string{file, pipe} {
		if err := write(name, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, want := tree(t, dir), []string{".", "pipe"}; !slices.Equal(got, want) {
		t.Errorf("there is now %q, want %q", got, want)
	}
}

// tree is all that is in a directory.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
