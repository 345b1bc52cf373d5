package esproc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
)

func TestMain(m *testing.M) { proctest.Main(m, esproc.Command()) }

// TestMissing: without Java or the jars it is said what brings them.
func TestMissing(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if where, bring := esproc.Found(); where != "" || bring != maven.InstallJava {
		t.Errorf("without Java it is found in %q, or brought by %q", where, bring)
	}
	if err := os.WriteFile(filepath.Join(bin, "java"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if where, bring := esproc.Found(); where != "" || bring != esproc.GetJars {
		t.Errorf("without jars it is found in %q, or brought by %q", where, bring)
	}
	_, err := esproc.Start(t.Context(), proctest.Group(t), 1)
	if want := "elasticsearch is missing: " + esproc.GetJars; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
