package postgresproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestClosed: the directory that keeps nobody out is named, whichever it is of those above.
func TestClosed(t *testing.T) {
	above, err := os.MkdirTemp("", "above")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	dir := filepath.Join(above, "dir")
	if err := errors.Join(os.Chmod(above, 0o711), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if at := closed(dir); at != "" {
		t.Errorf("%s is closed, though all may enter", at)
	}
	if err := os.Chmod(above, 0o700); err != nil {
		t.Fatal(err)
	}
	if at := closed(dir); at != above {
		t.Errorf("%q is closed, want %s", at, above)
	}
}
