package java_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
)

// TestThin: the folders of libraries; agent has what they share.
func TestThin(t *testing.T) { originaltest.Thin(t, "[^a]*/*.java") }

// TestArchive: a program starts with the classes that were kept of its trial.
func TestArchive(t *testing.T) {
	javatest.Need(t)
	command := append(append([]string{maven.Java()}, maven.ServerOptions("64m", t.TempDir(), "a")...), "-Xlog:class+load")
	out, err := exec.Command(command[0], append(command[1:], java.Start(java.Member)...)...).CombinedOutput()
	if n := strings.Count(string(out), "shared objects file (top)"); n < 10 {
		t.Errorf("%d of its classes were kept (%v):\n%.2000s", n, err, out)
	}
}
