package postgres_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/postgres"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestArchive: where no postgres is installed one is fetched, and a story is told on it.
func TestArchive(t *testing.T) {
	need.Programs(t, "to fetch PostgreSQL", "java", "mvn")
	without(t, "postgres")
	cache := t.TempDir()
	if err := os.Chmod(filepath.Dir(cache), 0o711); err != nil { // as root the server is nobody's
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	of := postgres.Service()
	if where, bring := of.Found(); where != "" || !strings.Contains(bring, postgresproc.GetArchive) {
		t.Fatalf("before it is fetched it is in %q, and brought by %q", where, bring)
	}
	if err := of.Get(t.Context(), io.Discard); err != nil {
		t.Log(err)
		need.Missing(t, "the archive of PostgreSQL", "to tell a story on", "go run ./cmd/"+postgresproc.GetArchive)
	}
	where, _ := of.Found()
	if !strings.HasPrefix(where, cache) {
		t.Fatalf("it is in %q, want it in %s", where, cache)
	}
	s := services.Parse(t, "../../../scenarios/postgres/01-token-column.yaml")[0]
	for i := range s.Variants {
		labtest.Run(t, s, &s.Variants[i], lab.Options{Exe: os.Args[0], Services: services})
	}
}

// without has PATH lead to all that it leads to, but for one program.
func without(t *testing.T, program string) {
	t.Helper()
	bin := t.TempDir()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Name() == program {
				continue
			}
			if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(bin, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", bin)
}
