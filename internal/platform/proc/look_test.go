package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// TestLook: PATH comes first, then the newest beside it that can be run.
func TestLook(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "bin"))
	place := func(path string, mode os.FileMode) string {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	look := func(want string) {
		t.Helper()
		if got := proc.Look("server", "../lib/server/*/bin"); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
	look("")
	place("lib/server/17/bin/server", 0o600)
	look("")
	place("lib/server/15/bin/server", 0o700)
	look(place("lib/server/16/bin/server", 0o700))
	look(place("bin/server", 0o700))
}
