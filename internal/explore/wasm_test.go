package explore

import (
	"os"
	"os/exec"
	"testing"
)

// TestWebAssembly: a page can tell stories, too.
func TestWebAssembly(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, ".")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
