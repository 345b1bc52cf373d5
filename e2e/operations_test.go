package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestOperations types the commands of docs/operations.md, as they stand there,
// in a directory of its own. (The binaries are built already.)
func TestOperations(t *testing.T) {
	t.Parallel()
	need.Programs(t, "to type the commands of docs/operations.md", "bash", "curl", "openssl", "sed")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(read(t, "../docs/operations.md"), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	// What is left running when a command fails goes with it.
	script := []string{"set -eu", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"}
	for _, block := range blocks[1:] { // the first builds the binaries
		script = append(script, block[1])
	}
	text := strings.Join(script, "\n")
	for _, port := range []string{"2379", "8080", "8443"} {
		_, free, err := net.SplitHostPort(fixedAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, port, free)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"kind":"end"`, "restored 1 keys", "dropped ", `"dropped":0`, "paid", `"kind":"ok","op":"write"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in the output:\n%s", want, out)
		}
	}
	secret := read(t, filepath.Join(dir, "orders.secret"))
	if strings.Contains(string(out), strings.TrimSpace(secret)) {
		t.Errorf("a secret was logged:\n%s", out)
	}
}
