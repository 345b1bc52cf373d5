package interop_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestPay: the commands at the head of examples/pay show a late write refused.
func TestPay(t *testing.T) {
	need.Time(t, "to wait for a lease of 10 s")
	t.Parallel()
	const example = "../../../examples/pay"
	server, database, dir := redistest.Real(t), sqltest.Postgres(t), t.TempDir()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir, example).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	source, err := os.ReadFile(example + "/main.go")
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.ReplaceAll(regexp.MustCompile(`(?m)^//\t\./pay -late(?:.*\n//\t)*.*`).FindString(string(source)), "//\t", "")
	shell := exec.CommandContext(t.Context(), "sh", "-c", commands)
	shell.Dir, shell.Env = dir, append(os.Environ(), "REDIS="+server.Addr, "DATABASE_URL="+database.Source)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // one of the group is stopped on the way
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	said, err := shell.CombinedOutput()
	if want := "paid: true\npaid: false\n"; err != nil || !strings.HasPrefix(string(said), want) || !strings.Contains(string(said), "fence: stale token: 1 ") {
		t.Errorf("%s\nprint\n%s, %v; want %q and a stale token", commands, said, err, want)
	}
}
