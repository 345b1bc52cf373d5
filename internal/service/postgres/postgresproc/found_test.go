package postgresproc

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestProgram: what was fetched is found where no other postgres is.
func TestProgram(t *testing.T) {
	need.Program(t, "sh", "to be a Maven")
	dir, bin := t.TempDir(), t.TempDir()
	packed := filepath.Join(dir, "a.jar")
	jar(t, packed, "postgres.txz", tar.Header{Typeflag: tar.TypeReg, Name: "bin/postgres", Mode: 0o755})
	const copies = "#!/usr/bin/env sh\nfor arg; do case $arg in -DoutputDirectory=*) jars=${arg#*=};; esac; done\nmkdir \"$jars\" && cp \"$JAR\" \"$jars\"\n"
	err := errors.Join(
		os.WriteFile(filepath.Join(bin, "mvn"), []byte(copies), 0o755),
		os.WriteFile(filepath.Join(bin, "postgres"), nil, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	t.Setenv("JAR", packed)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := archive.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, want := Program(), filepath.Join(bin, "postgres"); got != want {
		t.Errorf("where one is on PATH it is %q, want %s", got, want)
	}
	t.Setenv("PATH", dir)
	if got := Program(); !strings.HasPrefix(got, cache) || !strings.HasSuffix(got, "/bin/postgres") {
		t.Errorf("where none is on PATH it is %q, want one in %s", got, cache)
	}
	if err := Get(t.Context(), io.Discard); err != nil {
		t.Errorf("what is there is fetched again: %v", err)
	}
	fetched := Program()
	if err := errors.Join(Whole(), os.Truncate(fetched, 1)); err != nil {
		t.Fatal(err)
	}
	if got, err := Program(), Whole(); got != "" || err == nil {
		t.Errorf("what is damaged is found in %q, and its damage is %v", got, err)
	}
	t.Setenv("PATH", bin)
	if err := Whole(); err != nil {
		t.Errorf("where one is on PATH: %v", err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	if got := Program(); got != "" {
		t.Errorf("where there is none it is %q", got)
	}
}
