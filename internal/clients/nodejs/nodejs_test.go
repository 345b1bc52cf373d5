package nodejs_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/nodejs"
)

// TestMissing: what brings the libraries is said where they are missing, and where npm is.
func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", "")
	if where, bring := nodejs.Found(); where != "" || bring != "gcsim services get node" {
		t.Errorf("they are in %q, and %q brings them", where, bring)
	}
	want := "node-libraries: npm fetches it, and npm is missing: apt-get install nodejs npm"
	if err := nodejs.Get(t.Context(), io.Discard); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) {
	files, err := filepath.Glob("of_*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(source, []byte("\n"))
		if lines > 120 {
			t.Errorf("%s has %d lines", file, lines)
		}
	}
}
