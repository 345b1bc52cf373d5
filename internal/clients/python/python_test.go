package python_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestMissing: what brings the libraries is said where they are missing, and where Python is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, python.Name, "python-libraries: Python fetches it, and Python is missing: apt-get install python3-venv")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "of_*.py") }

// TestLaterPython: libraries that were fetched by a Python are not found by a later one, and are fetched anew.
func TestLaterPython(t *testing.T) {
	need.Program(t, "sh", "to be a Python")
	bin := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	becomes := func(version string) error {
		const makes = "#!/usr/bin/env sh\nif [ $2 = venv ]; then mkdir -p $3/bin && ln -s $0 $3/bin/python; fi\n"
		program, name := filepath.Join(bin, version), filepath.Join(bin, "python3")
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return errors.Join(os.WriteFile(program, []byte(makes), 0o755), os.Symlink(program, name))
	}
	if err := errors.Join(becomes("python3.98"), python.Get(t.Context(), io.Discard)); err != nil {
		t.Fatal(err)
	}
	dir, _ := python.Found()
	if dir == "" {
		t.Fatal("what was fetched is not found")
	}
	if err := errors.Join(os.Remove(filepath.Join(bin, "python3.98")), becomes("python3.99")); err != nil {
		t.Fatal(err)
	}
	if where, bring := python.Found(); where != "" || !strings.Contains(bring, "bin/python leads nowhere") {
		t.Errorf("with a later Python they are in %q, and brought by %q", where, bring)
	}
	if err := python.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if where, _ := python.Found(); where != dir {
		t.Errorf("when they were fetched anew they are in %q, want %s", where, dir)
	}
}
