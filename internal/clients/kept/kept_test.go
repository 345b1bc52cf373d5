package kept_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/kept"
)

// TestLinkToNowhere: a folder that needs what is there no more, as a Python, is damaged, and made anew.
func TestLinkToNowhere(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	first, second := filepath.Join(t.TempDir(), "python3.11"), filepath.Join(t.TempDir(), "python3.12")
	for _, python := range []string{first, second} {
		if err := os.WriteFile(python, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folder := kept.Folder{Name: "libraries"}
	get := func(to string) error {
		return folder.Get(t.Context(), io.Discard, kept.Tool{Name: "Python", Program: second}, "fetches", func(_ kept.Run, dir string) (string, error) {
			return dir, os.Symlink(to, filepath.Join(dir, "python"))
		})
	}
	if err := get(first); err != nil {
		t.Fatal(err)
	}
	dir := folder.Found()
	if err := folder.Whole(); dir == "" || err != nil {
		t.Fatalf("what was made is in %q, and %v", dir, err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	want := "get it (" + dir + " is damaged: python leads nowhere: "
	if where, bring := folder.FoundBy("get it"); where != "" || !strings.HasPrefix(bring, want) {
		t.Errorf("without its Python it is in %q, and brought by %q, want %s", where, bring, want)
	}
	if err := get(second); err != nil {
		t.Fatal(err)
	}
	if err := folder.Whole(); folder.Found() != dir || err != nil {
		t.Errorf("when it was made anew: %v", err)
	}
}
