// Package need is for tests that need more than Go and coreutils: a program, a
// permission of the kernel's, or much time. A test that does not get it is left out, and says what is missing,
// what for, and what brings it. With FENCELAB_REQUIRE=all it fails instead.
package need

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// Require makes a failure of what is missing, by the value "all".
	Require = "FENCELAB_REQUIRE"
	// LongForm has tests take their long form, where they have one, by the value "1".
	LongForm = "FENCELAB_LONG"
	// Account names a file to which each test that is left out adds a LeftOut, as a line of JSON.
	Account = "FENCELAB_LEFT_OUT"
)

// Long reports whether tests take their long form.
func Long() bool { return os.Getenv(LongForm) == "1" }

// Time is for a test that takes the processors for long, or waits for long: it runs where all tests have to, and in the
// long form. The purpose is as in Program.
func Time(t testing.TB, purpose string) {
	t.Helper()
	TimeFor(t, purpose, fmt.Sprintf("-run '^%s$' %s", t.Name(), dir))
}

// Night is for a test, or the rest of one, that takes more time than CI has: it runs in the long form alone, which CI
// has each night. The purpose is as in Program.
func Night(t testing.TB, purpose string) {
	t.Helper()
	if !Long() {
		t.Skip("left to the night: " + purpose + ": " + LongForm + "=1")
	}
}

// TimeFor is Time for tests that go test takes by other arguments.
func TimeFor(t testing.TB, purpose, args string) {
	t.Helper()
	if os.Getenv(Require) == "" && !Long() {
		Missing(t, "time", purpose, fmt.Sprintf("%s=all go test %s", Require, args))
	}
}

// LeftOut is a test that was left out.
type LeftOut struct {
	Test   string // the last part of its package's path, and its name
	Dir    string // its package's
	What   string // is missing
	Remedy string // what brings it
}

// dir is the package's: where go test starts a test's program. A test may go elsewhere.
var dir, _ = os.Getwd()

// debian has the packages that bring a program, where their names differ.
var debian = map[string]string{
	"java":     "default-jdk-headless",
	"javac":    "default-jdk-headless",
	"mariadbd": "mariadb-server",
	"mvn":      "maven",
	"node":     "nodejs",
	"postgres": "postgresql",
	"sh":       "dash",
	"xargs":    "findutils",
	"xmllint":  "libxml2-utils",
}

// Program returns where a program is. The purpose, "to do this", is for who reads that it is missing.
func Program(t testing.TB, name, purpose string) (path string) {
	t.Helper()
	Programs(t, purpose, name)
	path, _ = exec.LookPath(name)
	return path
}

// Programs is for a test that needs several.
func Programs(t testing.TB, purpose string, names ...string) {
	t.Helper()
	var missing, from []string
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
			from = append(from, cmp.Or(debian[name], name))
		}
	}
	if len(missing) > 0 {
		Missing(t, strings.Join(missing, ", "), purpose, "apt-get install "+strings.Join(from, " "))
	}
}

// Strace returns where strace is, if it may trace what it starts itself.
func Strace(t testing.TB, purpose string) (path string) {
	t.Helper()
	path = Program(t, "strace", purpose)
	if out, err := exec.Command(path, "-o", os.DevNull, path, "-V").CombinedOutput(); err != nil {
		t.Logf("strace: %v\n%s", err, out)
		Missing(t, "ptrace", purpose, "in a container --cap-add SYS_PTRACE")
	}
	return path
}

// Schemathesis returns where the tester of APIs is that "make schemathesis" puts into the
// user's cache, at the version of a requirements.txt: another version makes other requests.
func Schemathesis(t testing.TB, requirements, purpose string) (path string) {
	t.Helper()
	Program(t, "python3", purpose)
	text, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\nschemathesis==")
	version, _, _ := strings.Cut(after, "\n")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(cache, "fencelab", "schemathesis-"+version, "bin", "schemathesis")
	if _, err := os.Stat(path); err != nil {
		Missing(t, "schemathesis "+version, purpose, "make schemathesis")
	}
	return path
}

// axe is the version of axe-core: another one has other rules.
const axe = "4.14.1"

// Axe is the script of axe-core, a checker of what pages are for who cannot see them or has no mouse. "make axe" puts
// it into the user's cache.
func Axe(t testing.TB, purpose string) (script string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(cache, "fencelab", "axe-core-"+axe, "package", "axe.min.js"))
	if err != nil {
		Missing(t, "axe-core "+axe, purpose, "make axe")
	}
	return string(text)
}

// Files is for a test that needs all files there and does not open them itself: a command does. So go test
// knows what the result depends on, and takes no earlier one where a file is another.
func Files(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// MissingUserNamespaces ends the test: the kernel gives the user no such namespace, or one without its rights.
func MissingUserNamespaces(t testing.TB, purpose string) {
	t.Helper()
	Missing(t, "user namespaces", purpose, "sysctl user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0, in a container --cap-add SYS_ADMIN")
}

// Missing ends the test: something is missing that it needs, and the remedy would bring it.
func Missing(t testing.TB, what, purpose, remedy string) {
	t.Helper()
	says := fmt.Sprintf("it needs %s %s: %s", what, purpose, remedy)
	switch require := os.Getenv(Require); require {
	case "":
	case "all":
		t.Fatalf("%s (%s=all)", says, Require)
	default:
		t.Fatalf("%s is %q: want all, or nothing; %s", Require, require, says)
	}
	if name := os.Getenv(Account); name != "" {
		binary := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
		if err := add(name, LeftOut{Test: binary + " " + t.Name(), Dir: dir, What: what, Remedy: remedy}); err != nil {
			t.Fatalf("%s, and the account of it cannot be kept: %v", says, err)
		}
	}
	t.Skip("left out: " + says)
}

// add writes a whole line at once: other processes write to the file as well.
func add(name string, l LeftOut) error {
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}
