package maven_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/maven"
)

// TestDamage: each damage is told, and mended. One that changes no size is found by the check sums alone.
func TestDamage(t *testing.T) {
	for name, tt := range map[string]struct {
		damage func(dir string) error
		want   string
		hidden bool
	}{
		"cut off":  {func(dir string) error { return os.Truncate(filepath.Join(dir, "a.jar"), 5) }, "a.jar has 5 bytes, SHA-256 ", false},
		"deleted":  {func(dir string) error { return os.Remove(filepath.Join(dir, "a.jar")) }, "a.jar is missing", false},
		"one more": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "b.jar"), nil, 0o644) }, "b.jar is not one of its files", false},
		"changed": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a.jar"), []byte("<PROJECT/>\n"), 0o644)
		}, "a.jar has 11 bytes, SHA-256 ", true},
		"no list":       {func(dir string) error { return os.Remove(filepath.Join(dir, "files.json")) }, "no check sums: ", false},
		"half a list":   {func(dir string) error { return os.Truncate(filepath.Join(dir, "files.json"), 5) }, "files.json: ", false},
		"an empty list": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "files.json"), []byte("{}"), 0o644) }, "a.jar is not one of its files", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := libraries(t, copies)
			if err := l.Whole(); err != nil {
				t.Errorf("what is not there is damaged: %v", err)
			}
			if err := l.Get(t.Context(), io.Discard); err != nil {
				t.Fatal(err)
			}
			dir := l.Found()
			if err := l.Whole(); dir == "" || err != nil {
				t.Fatalf("what was fetched is in %q, and %v", dir, err)
			}
			if err := tt.damage(dir); err != nil {
				t.Fatal(err)
			}
			want := dir + " is damaged: " + tt.want
			if err := l.Whole(); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if where := l.Found(); (where != "") != tt.hidden {
				t.Errorf("it is found in %q", where)
			}
			var says strings.Builder
			if err := l.Get(t.Context(), &says); err != nil || !strings.HasPrefix(says.String(), "books: "+want) {
				t.Errorf("it says %q, %v", &says, err)
			}
			if err := l.Whole(); l.Found() != dir || err != nil {
				t.Errorf("when it was mended: %v", err)
			}
		})
	}
}

// TestDamageIsNotRun: who wants to run what is damaged learns what is wrong, and what mends it.
func TestDamageIsNotRun(t *testing.T) {
	l := libraries(t, copies)
	if err := os.WriteFile(filepath.Join(filepath.SplitList(os.Getenv("PATH"))[0], "java"), []byte("#!/usr/bin/env sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := l.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	dir := l.Found()
	if where, bring := l.FoundToRun("get books"); where != dir || bring != "get books" {
		t.Errorf("what is whole is in %q, and brought by %q", where, bring)
	}
	if err := os.Truncate(filepath.Join(dir, "a.jar"), 5); err != nil {
		t.Fatal(err)
	}
	want := "get books (" + dir + " is damaged: a.jar has 5 bytes, want 11 bytes, SHA-256 "
	if where, bring := l.FoundToRun("get books"); where != "" || !strings.HasPrefix(bring, want) {
		t.Errorf("what is damaged is in %q, and brought by %q, want %s", where, bring, want)
	}
	t.Setenv("PATH", "")
	if where, bring := l.FoundToRun("get books"); where != "" || bring != maven.InstallJava {
		t.Errorf("without Java it is in %q, and brought by %q", where, bring)
	}
}
