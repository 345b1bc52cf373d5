// Package modules_test has `go test ./...` reach the tests of all modules. By itself
// it stays in one.
package modules_test

import (
	"flag"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// flags of go test that are passed on to the tests of the other modules.
var flags []string

func TestMain(m *testing.M) {
	flag.Parse()
	passed := []string{"run", "skip", "short", "count", "cpu", "failfast", "parallel", "shuffle", "timeout"}
	flag.Visit(func(f *flag.Flag) {
		if name := strings.TrimPrefix(f.Name, "test."); slices.Contains(passed, name) {
			flags = append(flags, "-"+name+"="+f.Value.String())
		}
	})
	if testing.Verbose() {
		flags = append(flags, "-v")
	}
	if raceDetector() {
		// Locks that are broken on purpose may race.
		flags = append([]string{"-race", "-skip=^TestBrokenBackendsAreCaught$"}, flags...)
	}
	// These choose among the tests of the other modules; the one test here runs once.
	for name, all := range map[string]string{"run": "", "skip": "", "count": "1"} {
		if err := flag.Set("test."+name, all); err != nil {
			panic(err)
		}
	}
	m.Run()
}

func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestEveryModule(t *testing.T) {
	args := append([]string{"test"}, flags...)
	for _, m := range nested(t) {
		need.Files(t, m.dir)
		args = append(args, m.path+"/...")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	out, err := cmd.CombinedOutput()
	t.Logf("go %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Error(err)
	}
}

type module struct{ path, dir string }

// nested are the modules that go.work uses, but for the root's.
func nested(t *testing.T) (all []module) {
	t.Helper()
	need.Files(t, "../../../go.work")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if dir != root {
			all = append(all, module{path, dir})
		}
	}
	if len(all) == 0 {
		t.Fatalf("go list -m names no module but that of %s:\n%s", root, out)
	}
	return all
}
