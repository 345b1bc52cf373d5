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
	// These choose among the tests of the other modules; each test here runs once.
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

// TestEveryModule: the tests of all modules but the drivers'.
func TestEveryModule(t *testing.T) {
	var all []string
	for _, m := range nested(t) {
		if m.path != drivers {
			need.Files(t, m.dir)
			all = append(all, m.path+"/...")
		}
	}
	goTest(t, all...)
}

// drivers is the module that has the tests of pkg's drivers.
const drivers = "github.com/fencelab/fencelab/internal/drivers"

func TestDrivers(t *testing.T) {
	need.TimeFor(t, "to test the drivers on servers", drivers+"/...")
	need.Files(t, root+"/internal")
	need.Files(t, root+"/pkg")
	goTest(t, drivers+"/...")
}

func goTest(t *testing.T, packages ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"test"}, flags, packages)...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", strings.Join(cmd.Args, " "), out)
	if err != nil {
		t.Error(err)
	}
}

const root = "../../.."

type module struct{ path, dir string }

// nested are the modules that go.work uses, but for the root's.
func nested(t *testing.T) (all []module) {
	t.Helper()
	need.Files(t, root+"/go.work")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	rootDir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if dir != rootDir {
			all = append(all, module{path, dir})
		}
	}
	if len(all) == 0 {
		t.Fatalf("go list -m names no module but that of %s:\n%s", rootDir, out)
	}
	return all
}
