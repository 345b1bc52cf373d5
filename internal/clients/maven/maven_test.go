package maven_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// libraries are to be fetched by a Maven that is a script, into a cache of the test's own.
func libraries(t *testing.T, script string) maven.Libraries {
	t.Helper()
	need.Program(t, "sh", "to be a Maven")
	bin := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/usr/bin/env sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		bin += ":" + os.Getenv("PATH")
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	return books
}

// copies is a Maven that makes one jar, with what the POM says in it.
const copies = `
for arg; do case $arg in -DoutputDirectory=*) jars=${arg#*=};; */pom.xml) pom=$arg;; esac; done
mkdir "$jars" && read -r text < "$pom" ; echo "$text" > "$jars/a.jar"
`

// TestGet: what was fetched is found, and is not fetched again.
func TestGet(t *testing.T) {
	l := libraries(t, copies)
	if dir := l.Found(); dir != "" {
		t.Fatalf("before it was fetched it is in %s", dir)
	}
	var says strings.Builder
	if err := l.Get(t.Context(), &says); err != nil {
		t.Fatal(err)
	}
	dir := l.Found()
	if text, err := os.ReadFile(filepath.Join(dir, "a.jar")); err != nil || string(text) != "<project/>\n" {
		t.Errorf("in %s is %q, %v", dir, text, err)
	}
	if want := "books: Maven fetches it into " + dir + "\n"; says.String() != want {
		t.Errorf("it says %q, want %q", &says, want)
	}
	if left := names(t, filepath.Dir(dir)); !slices.Equal(left, []string{filepath.Base(dir), "lock"}) {
		t.Errorf("in the cache is %q, want %s and a lock alone", left, dir)
	}

	t.Setenv("PATH", "") // there is no Maven any more
	if err := l.Get(t.Context(), &says); err != nil {
		t.Errorf("what is there is fetched again: %v", err)
	}
	l.POM = []byte("<project></project>")
	if dir := l.Found(); dir != "" {
		t.Errorf("with other versions it is in %s", dir)
	}
}

// TestUnpack: what is found is what Unpack has made of the jars.
func TestUnpack(t *testing.T) {
	l := libraries(t, copies)
	l.Unpack = func(dir string) error {
		return os.Rename(filepath.Join(dir, "a.jar"), filepath.Join(dir, "a"))
	}
	if err := l.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := names(t, l.Found()); !slices.Equal(got, []string{"a", "files.json"}) {
		t.Errorf("it has %q, want a and the list", got)
	}
	l = libraries(t, copies)
	l.Unpack = func(string) error { return errors.New("no archive") }
	want := "books: unpack what Maven has fetched: no archive"
	if err := l.Get(t.Context(), io.Discard); err == nil || err.Error() != want || l.Found() != "" {
		t.Errorf("got %v, and it is in %q, want %s", err, l.Found(), want)
	}
}

// TestGetFails: an error says what to do, and what failed leaves nothing to be found.
func TestGetFails(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"missing": {"", "books: Maven fetches it, and Maven is missing: apt-get install maven"},
		"failed": {copies + "echo no route; exit 1",
			"books: mvn failed (exit status 1); it needs the network, or a mirror in ~/.m2/settings.xml; it said:\nno route"},
	} {
		t.Run(name, func(t *testing.T) {
			l := libraries(t, tt.script)
			if err := l.Get(t.Context(), io.Discard); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if dir := l.Found(); dir != "" {
				t.Errorf("it is in %s", dir)
			}
			if left := cached(t); len(left) > 0 {
				t.Errorf("in the cache is %q", left)
			}
		})
	}
}

// waiting makes a file when somebody is told of a wait.
type waiting struct{ file string }

func (w waiting) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "waits for another process") {
		return len(b), os.WriteFile(w.file, nil, 0o644)
	}
	return len(b), nil
}

// TestGetAtOnce: of two who fetch at the same time, the second one waits, and has what the first one fetched.
func TestGetAtOnce(t *testing.T) {
	both := t.TempDir()
	t.Setenv("BOTH", both)
	l := libraries(t, copies+`touch "$BOTH/$$"; until [ $(ls "$BOTH" | wc -l) = 2 ]; do sleep 0.01; done`)
	errs := make(chan error)
	for range 2 {
		go func() { errs <- l.Get(t.Context(), waiting{filepath.Join(both, "waits")}) }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Error(err)
	}
	if all := names(t, both); !slices.Contains(all, "waits") {
		t.Errorf("%q: both have fetched", all)
	}
	if all := cached(t); !slices.Equal(all, []string{filepath.Base(l.Found())}) {
		t.Errorf("in the cache is %q, want one folder", all)
	}

	// Who waits ends when nobody wants that any more.
	l = libraries(t, `touch "$BOTH/third"; exec sleep 1000`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { errs <- l.Get(ctx, io.Discard) }()
	await(t, "Maven has begun", func() bool { return slices.Contains(names(t, both), "third") })
	go func() { errs <- l.Get(ctx, waiting{filepath.Join(both, "fourth")}) }()
	await(t, "another one waits", func() bool { return slices.Contains(names(t, both), "fourth") })
	cancel()
	if err := errors.Join(<-errs, <-errs); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "books: another process fetches something") {
		t.Errorf("it has waited: %v", err)
	}
}

// cached is what is in the cache beside the lock.
func cached(t *testing.T) []string {
	all := names(t, filepath.Join(os.Getenv("XDG_CACHE_HOME"), "fencelab"))
	return slices.DeleteFunc(all, func(name string) bool { return name == "lock" })
}

// await waits until something is so, of which nobody tells.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.After(2 * time.Minute); !is(); {
		select {
		case <-deadline:
			t.Fatalf("it is never so: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// names are those of what is in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
