package s3proc_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc/s3test"
)

func TestMain(m *testing.M) { proctest.Main(m, s3proc.Command()) }

// TestMissing: without the program it is said what brings it.
func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := s3proc.Start(t.Context(), proctest.Group(t))
	if want := "s3 is missing: gcsim services get s3"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestProgram: go vet sees the program, which is no package of this module.
func TestProgram(t *testing.T) {
	s3test.Need(t)
	dir := t.TempDir()
	if err := s3proc.Program.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", ".")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
