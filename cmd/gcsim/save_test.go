package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	for name, o := range map[string]runOptions{
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
	if (runOptions{}).prepare(nil) == nil {
		t.Error("a directory for the summary is taken")
	}
	t.Setenv("GITHUB_STEP_SUMMARY", old)
	for _, junit := range []string{old, filepath.Join(dir, "reports", "new.xml"), os.DevNull} {
		if err := (runOptions{out: filepath.Join(dir, "out"), junit: junit}).prepare(nil); err != nil {
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
