package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// lockService writes the story of the lock service that is an example, with a program in which
// a text is replaced by another one.
func lockService(t *testing.T, old, new string) (story string) {
	t.Helper()
	need.Files(t, servers)
	need.Files(t, clients)
	need.Program(t, "python3", "to run a lock service in Python")
	need.Program(t, "sh", "to run a lock service by a command")
	program := read(t, servers+"server.py")
	if !strings.Contains(program, old) {
		t.Fatalf("server.py has no %q", old)
	}
	dir := t.TempDir()
	server := filepath.Join(dir, "server.py")
	story = filepath.Join(dir, "restart.yaml")
	text := strings.NewReplacer("examples/lockservice/server.py", server, "examples/client/", clients).Replace(read(t, servers+"restart.yaml"))
	if old != "" {
		text, _, _ = strings.Cut(text, "  forgotten:") // one variant shows it
	}
	for file, text := range map[string]string{server: strings.Replace(program, old, new, 1), story: text} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return story
}

// TestLockServiceOfOnesOwn: one that keeps its count is safe, and one that does not is not.
func TestLockServiceOfOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("gcsim", "run", "--json", lockService(t, "", ""))
	p.want(0)
	got := runsOf(t, p)
	for run, want := range map[string]string{"restart kept": "safe", "restart forgotten": "corrupted", "restart unfenced": "corrupted"} {
		if got[run] != want {
			t.Errorf("%s: %s, want %s", run, got[run], want)
		}
	}
	w.awaitNothingLeft()
}

// TestCarelessLockService: what is careless in a program corrupts the data.
func TestCarelessLockService(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ old, new string }{
		"forgets its count":    {`STATE = json.load(file)`, `STATE = json.load(file) | {"token": 0}`},
		"gives all one token":  {`STATE["token"] += 1`, `STATE["token"] = 1`},
		"gives falling tokens": {`STATE["token"] += 1`, `STATE["token"] = (STATE["token"] or 1000) - 1`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newWorld(t).start("gcsim", "run", lockService(t, tt.old, tt.new))
			p.want(1)
			p.says("verdict: corrupted, NOT as expected", "tokens did not grow in the order of the grants")
		})
	}
}

// TestLockServiceLaws: the example obeys its laws, and one that ignores an unlock is told what shows it.
func TestLockServiceLaws(t *testing.T) {
	t.Parallel()
	const law = "a release is said"
	for _, tt := range []struct {
		old, new string
		status   int
		says     []string
	}{
		{"", "", 0, []string{"a fixed lease", "holds      " + law, "laws: 1 held, 0 failed"}},
		{`        del STATE["held"][lock]`, `        return cause == "released"`, 1, []string{"FAILS      " + law, "no line said before", " -> released", "gcsim laws --law '" + law + "' --lock-service 'python3 "}},
	} {
		server := filepath.Join(filepath.Dir(lockService(t, tt.old, tt.new)), "server.py")
		p := newWorld(t).start("gcsim", "laws", "--law", law, "--lock-service", "python3 "+server+" --listen {addr} --dir {dir}")
		p.want(tt.status)
		p.says(tt.says...)
	}
	p := newWorld(t).start("gcsim", "laws", "--lock-service", "x {addr}", "--idle", "1s")
	p.want(2)
	p.says("--lock-service is judged alone")
}

// TestLockServiceThatGrantsToTwo: a tenure that the program grants beside another one is judged, though no client hears of it.
func TestLockServiceThatGrantsToTwo(t *testing.T) {
	t.Parallel()
	const says = `say("granted", lock, owner, token=str(STATE["token"]))`
	p := newWorld(t).start("gcsim", "run", lockService(t, says, says+`; say("granted", lock, owner + "-again", token=str(STATE["token"]))`))
	p.want(1)
	p.says("NOT as expected", "the tenure of client2 was not over")
}

// TestLockServiceThatSaysWhatCannotBe: the run ends with an error that names the command and what
// it said, and nothing is judged.
func TestLockServiceThatSaysWhatCannotBe(t *testing.T) {
	t.Parallel()
	const says = `print(json.dumps(event), flush=True)`
	for name, tt := range map[string]struct{ old, new, want string }{
		"garbage":             {says, `print("a lock is", kind, flush=True)`, `): want a JSON line as docs/your-lock-service.md describes: invalid character 'a' looking for beginning of value; it says "a lock is granted\n"`},
		"a long line":         {says, `print("x" * 2000000, flush=True)`, "its line is longer than 1048576 bytes"},
		"half a line":         {says, `print(json.dumps(event)[:20], end="", flush=True); os._exit(3)`, ") ended (exit status 3)"},
		"a grant twice":       {says, says + `; print(json.dumps(event), flush=True)`, "is granted a second time"},
		"an end without one":  {`say("ended", lock, owner`, `say("ended", lock, "nobody"`, `the tenure "nobody" ends, and was not granted`},
		"milliseconds":        {"time.time_ns()", "time.time_ns() // 1000000", "before it was started: want nanoseconds since 1970"},
		"nothing, and is end": {`say("granted"`, `os._exit(4); say("granted"`, ") ended (exit status 4)"},
		"nothing":             {says, "pass", "still waiting for the lock service to tell of client2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.start("gcsim", "run", lockService(t, tt.old, tt.new))
			p.want(2)
			p.says(tt.want)
			if out := p.output(); strings.Contains(out, "safe") || tt.old == says && tt.new != "pass" && !strings.Contains(out, "custom (python3 ") {
				t.Errorf("it is judged, or the command is not named:\n%s", out)
			}
			w.awaitNothingLeft()
		})
	}
}
