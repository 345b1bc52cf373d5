// Package originaltest is for tests with clients in other languages.
package originaltest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves the test out where the clients in a language are missing. Those that stand apart are needed only by tests in
// their long form.
func Need(t testing.TB, language string) {
	t.Helper()
	l, _ := original.Of(language)
	if l.Apart {
		need.Night(t, "to run the clients in "+l.Title)
	}
	needs(t, "the clients in "+l.Title, l.Found)
}

// needs leaves the test out where something is missing.
func needs(t testing.TB, what string, found func() (where, bring string)) {
	t.Helper()
	if where, bring := found(); where == "" {
		if strings.HasPrefix(bring, "gcsim ") {
			bring = "go run ./cmd/" + bring
		}
		need.Missing(t, what, "to tell stories with them", bring)
	}
}

// Missing sees that what brings the clients in a language is said where they are missing, and, by want, the program that
// would bring them.
func Missing(t *testing.T, language, want string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", "")
	l, _ := original.Of(language)
	if where, bring := l.Found(); where != "" || bring != "gcsim services get "+language {
		t.Errorf("they are in %q, and %q brings them", where, bring)
	}
	if err := l.Get(t.Context(), io.Discard); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Thin sees that each library's file has at most 120 lines.
func Thin(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(source, []byte("\n")); lines > 120 {
			t.Errorf("%s has %d lines", file, lines)
		}
	}
}
