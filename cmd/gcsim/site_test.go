package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// site calls gcsim site in a directory.
func site(t *testing.T, in string, args ...string) error {
	t.Helper()
	t.Chdir(in)
	root := commandWith(nil)
	root.SetArgs(append([]string{"site"}, args...))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root.Execute()
}

// TestSiteLacks: what the site needs and is not there is an error that says what to do.
func TestSiteLacks(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	fails := func(name, want, in string, args ...string) {
		t.Run(name, func(t *testing.T) {
			if err := site(t, in, args...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	fails("no directory", "want -o DIR", here)
	fails("no clone", "git clone https://github.com/fencelab/fencelab", t.TempDir(), "-o", "site")
	t.Setenv("PATH", t.TempDir())
	fails("no Go", "install Go", here, "-o", "site")
}

// TestSite: called anywhere in a clone, it makes the site where it was called.
func TestSite(t *testing.T) {
	need.Time(t, "to build the program that makes the site")
	dir := filepath.Join(t.TempDir(), "new", "site")
	if err := site(t, ".", "-o", dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "docs", "01-gc-pause.html")); err != nil || !strings.Contains(string(text), "1. The pause") {
		t.Errorf("the site has no first chapter: %v", err)
	}
	if err := site(t, ".", "-o", dir); err == nil {
		t.Error("a site was made in a directory that has one")
	}
}
