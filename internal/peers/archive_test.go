package peers_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/maven"
	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/peers/peerstest"
)

// TestArchive: a program starts with the classes that were kept of its trial.
func TestArchive(t *testing.T) {
	peerstest.Need(t)
	command := append(append([]string{maven.Java()}, maven.ServerOptions("64m", t.TempDir(), "a")...), "-Xlog:class+load")
	out, err := exec.Command(command[0], append(command[1:], peers.Start(peers.Member)...)...).CombinedOutput()
	if n := strings.Count(string(out), "shared objects file (top)"); n < 10 {
		t.Errorf("%d of its classes were kept (%v):\n%.2000s", n, err, out)
	}
}
