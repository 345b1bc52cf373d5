package need_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// recorder is a test that keeps how it ends.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()             {}
func (r *recorder) Name() string        { return "TestThis" }
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Skip(args ...any) {
	r.end = "skipped: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// endOf is how a test ends that needs something.
func endOf(needs func(testing.TB)) string {
	r := &recorder{end: "passed"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		needs(r)
	}()
	<-done
	return r.end
}

// withPrograms makes a PATH that holds these scripts alone.
func withPrograms(t *testing.T, scripts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestProgram(t *testing.T) {
	dir := withPrograms(t, map[string]string{"xmllint": "", "curl": ""})
	t.Setenv(need.Account, "")
	var path string
	program := func(name string) func(testing.TB) {
		return func(tb testing.TB) { path = need.Program(tb, name, "to see") }
	}
	for _, c := range []struct{ program, require, end string }{
		{"xmllint", "", "passed"},
		{"xmllint", "all", "passed"},
		{"openssl", "", "skipped: left out: it needs openssl to see: apt-get install openssl"},
		{"sh", "", "skipped: left out: it needs sh to see: apt-get install dash"},
		{"openssl", "all", "failed: it needs openssl to see: apt-get install openssl (FENCELAB_REQUIRE=all)"},
		{"openssl", "1", `failed: FENCELAB_REQUIRE is "1": want all, or nothing; it needs openssl to see: apt-get install openssl`},
	} {
		t.Setenv(need.Require, c.require)
		path = ""
		if end := endOf(program(c.program)); end != c.end {
			t.Errorf("%s with FENCELAB_REQUIRE=%s: %s, want %s", c.program, c.require, end, c.end)
		}
		if c.end == "passed" && path != filepath.Join(dir, c.program) {
			t.Errorf("%s is %q", c.program, path)
		}
	}
}

// TestPrograms: all that are missing are named at once.
func TestPrograms(t *testing.T) {
	withPrograms(t, map[string]string{"curl": ""})
	t.Setenv(need.Account, "")
	t.Setenv(need.Require, "")
	end := endOf(func(tb testing.TB) { need.Programs(tb, "to see", "sh", "curl", "openssl") })
	if want := "skipped: left out: it needs sh, openssl to see: apt-get install dash openssl"; end != want {
		t.Errorf("%s, want %s", end, want)
	}
}

// TestSchemathesis: it is the one in the cache, of the version that is wanted.
func TestSchemathesis(t *testing.T) {
	withPrograms(t, map[string]string{"python3": ""})
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(need.Account, "")
	t.Setenv(need.Require, "all")
	requirements := filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(requirements, []byte("rich==15.0.0\nschemathesis==4.32.5\nurllib3==2.8.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var path string
	needs := func(tb testing.TB) { path = need.Schemathesis(tb, requirements, "to see") }
	for version, want := range map[string]string{
		"4.32.4": "failed: it needs schemathesis 4.32.5 to see: make schemathesis (FENCELAB_REQUIRE=all)",
		"4.32.5": "passed",
	} {
		bin := filepath.Join(cache, "fencelab", "schemathesis-"+version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(bin, "schemathesis")
		if err := os.WriteFile(program, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if end := endOf(needs); end != want || want == "passed" && path != program {
			t.Errorf("with version %s: %s, %q, want %s", version, end, path, want)
		}
		if err := os.RemoveAll(bin); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAxe: it is the one in the cache.
func TestAxe(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(need.Account, "")
	t.Setenv(need.Require, "all")
	var script string
	needs := func(tb testing.TB) { script = need.Axe(tb, "to see") }
	if end := endOf(needs); !strings.HasPrefix(end, "failed: it needs axe-core ") || !strings.HasSuffix(end, " to see: make axe (FENCELAB_REQUIRE=all)") {
		t.Errorf("without it: %s", end)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(endOf(needs), "failed: it needs axe-core "), " ")
	dir := filepath.Join(cache, "fencelab", "axe-core-"+version, "package")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "axe.min.js"), []byte("axe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if end := endOf(needs); end != "passed" || script != "axe" {
		t.Errorf("%s, %q", end, script)
	}
}

// TestStrace: it is not enough that strace is there.
func TestStrace(t *testing.T) {
	sh := need.Program(t, "sh", "to be a strace that may do nothing")
	t.Setenv(need.Account, "")
	t.Setenv(need.Require, "")
	for status, want := range map[string]string{
		"0": "passed",
		"1": "skipped: left out: it needs ptrace to see: in a container --cap-add SYS_PTRACE",
	} {
		withPrograms(t, map[string]string{"strace": "#!" + sh + "\nexit " + status + "\n"})
		if end := endOf(func(tb testing.TB) { need.Strace(tb, "to see") }); end != want {
			t.Errorf("where strace ends with status %s: %s, want %s", status, end, want)
		}
	}
}

// TestTime: what takes long is done where all tests are required, and in the long form.
func TestTime(t *testing.T) {
	t.Setenv(need.Account, "")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ require, long, want string }{
		{"", "", "skipped: left out: it needs time to see: FENCELAB_REQUIRE=all go test -run '^TestThis$' " + dir},
		{"all", "", "passed"},
		{"", "1", "passed"},
	} {
		t.Setenv(need.Require, tt.require)
		t.Setenv(need.LongForm, tt.long)
		if end := endOf(func(tb testing.TB) { need.Time(tb, "to see") }); end != tt.want {
			t.Errorf("%+v: %s", tt, end)
		}
	}
}

// TestNight: what CI has no time for is done in the long form alone.
func TestNight(t *testing.T) {
	t.Setenv(need.Require, "all")
	for long, want := range map[string]string{"": "skipped: left to the night: to see: FENCELAB_LONG=1", "1": "passed"} {
		t.Setenv(need.LongForm, long)
		if end := endOf(func(tb testing.TB) { need.Night(tb, "to see") }); end != want {
			t.Errorf("FENCELAB_LONG=%s: %s, want %s", long, end, want)
		}
	}
}

// TestAccount: a test that is left out adds a line, one that fails adds none.
func TestAccount(t *testing.T) {
	name := filepath.Join(t.TempDir(), "account")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(need.Account, name)
	missing := func(tb testing.TB) { need.Missing(tb, "luck", "to win", "a clover") }
	for _, require := range []string{"", "", "all"} {
		t.Setenv(need.Require, require)
		endOf(missing)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"Test":"need TestThis","Dir":%q,"What":"luck","Remedy":"a clover"}`, dir) + "\n"
	if got, err := os.ReadFile(name); err != nil || string(got) != line+line {
		t.Errorf("the account is %q, %v, want twice %q", got, err, line)
	}
	t.Setenv(need.Require, "")
	t.Setenv(need.Account, filepath.Join(name, "none"))
	if end := endOf(missing); !strings.HasPrefix(end, "failed: it needs luck to win: a clover, and the account of it cannot be kept: ") {
		t.Errorf("without a file for the account: %s", end)
	}
}
