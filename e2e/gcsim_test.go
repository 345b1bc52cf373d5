package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestRealCollection reads what is told of it. TestAllScenarios runs it each time.
func TestRealCollection(t *testing.T) {
	t.Parallel()
	if !need.Long() {
		return
	}
	p := newWorld(t).start("gcsim", "run", "gc-pause-real")
	p.want(0)
	p.says("client1 is stopped by its garbage", "REFUSED as stale", "verdict: safe, as expected", "verdict: corrupted, as expected of the control")
}

// scenarioFile writes the main story with a change.
func scenarioFile(t *testing.T, from, to string) string {
	t.Helper()
	return filepath.Join(scenarioDir(t, map[string][]string{"changed": {from, to}}), "changed.yaml")
}

func TestWrongExpectationIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("gcsim", "run", scenarioFile(t, "stale: 1, fenced: true, final: {key0: from-client-2}", "stale: 2, fenced: true, final: {key0: from-client-1}"))
	p.want(1)
	p.says(
		"changed fenced: safe, NOT as expected",
		"requests refused as stale: 1, expected 2",
		`at the end key0 holds "from-client-2"`,
		"changed  unfenced  corrupted, as expected of the control",
	)
}

// TestMainStoryOnBolt: the same on the durable engine.
func TestMainStoryOnBolt(t *testing.T) {
	t.Parallel()
	p := newWorld(t).start("gcsim", "run", scenarioFile(t, "engine: memory", "engine: bolt"))
	p.want(0)
	p.says("verdict: safe, as expected: client2's write is safe", "verdict: corrupted, as expected of the control: client2's write is lost")
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"run", "nothing"}, 2, `no scenario is called "nothing", and there is no such file: "gcsim list" names them all`},
		{[]string{"run", "gc-paus"}, 2, "did you mean gc-pause?"},
		{[]string{"run", "no/such.yaml"}, 2, "no/such.yaml"},
		{[]string{"run", scenarioFile(t, "client2: lock", "client2: luck")}, 2, `a client cannot "luck"`},
		{[]string{"run", t.TempDir()}, 2, "has no scenarios"},
		{[]string{"check", "../README.md"}, 2, "README.md: history: line 1 is no event"},
		{[]string{"check"}, 2, "see 'gcsim check --help'"},
		{[]string{"rum"}, 2, `unknown command "rum" (did you mean run?)`},
		{[]string{"--stepp"}, 2, "did you mean --step?"},
		{[]string{"help", "rum"}, 2, "did you mean run?"},
		{[]string{"lane", "client1"}, 2, `"at" not set; see 'gcsim lane --help'`},
		{[]string{"services", "get", "rediss"}, 2, `there is no "rediss"`},
		{[]string{"list", "rediss"}, 2, "did you mean redis?"},
		{[]string{"run", "gc-pause/fence"}, 2, "did you mean fenced?"},
		{[]string{"pause"}, 2, "want --pid N"},
		{[]string{"pause", "--pid", "999999999"}, 1, "process 999999999: no such process"},
	} {
		p := w.start("gcsim", tt.args...)
		if status := p.end(); status != tt.status {
			t.Errorf("gcsim %q: exit status %d, want %d", tt.args, status, tt.status)
		}
		p.says(tt.says)
	}
}

// What ends gcsim in the middle of its story leaves nothing behind: newWorld
// sees to that.

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			p := newWorld(t).start("gcsim")
			p.await("client1 is stopped")
			p.signal(s)
			p.want(130)
			p.says("stopped before all was told")
		})
	}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	p := newWorld(t).start("gcsim")
	p.await("client1 is stopped")
	p.signal(syscall.SIGKILL)
	p.want(-1)
}

// TestFailedStep: the world breaks while the story is told.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"storage", "etcd", "client agent --name client2"} {
		t.Run(victim, func(t *testing.T) {
			w := newWorld(t)
			// One variant, so that there is one of each process.
			only := scenarioFile(t, "  fenced:\n    expect: {verdict: safe, stale: 1, fenced: true, final: {key0: from-client-2}}\n", "")
			p := w.start("gcsim", "run", only)
			p.await("client1 is stopped")
			if err := syscall.Kill(w.find(victim), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.want(2)
			p.says("changed.yaml line", "step \"", "ended (signal: killed)")
		})
	}
}

func TestPauseCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	victim := w.start("/bin/cat")
	p := w.start("gcsim", "pause", "--pid", itoa(victim.cmd.Process.Pid), "--for", "10m")
	p.await("stands still")
	if s := state(t, victim.cmd.Process.Pid); s != "T" {
		t.Errorf("its state is %s, want T (stopped)", s)
	}
	p.signal(syscall.SIGHUP) // as when its terminal is closed; it must let it go on
	p.want(130)
	p.says("goes on; it stood still for")
	if _, err := victim.stdin.Write([]byte("it lives\n")); err != nil {
		t.Fatal(err)
	}
	victim.await("it lives")
	// Nobody reads what it says: it lets it go on all the same.
	unread := w.prepare("gcsim", "pause", "--pid", itoa(victim.cmd.Process.Pid), "--for", "1ms")
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer pipe.Close()
	unread.cmd.Stdout = pipe
	if err := unread.start(); err != nil {
		t.Fatal(err)
	}
	unread.end()
	fmt.Fprintln(victim.stdin, "it lives on")
	victim.await("it lives on")
	short := w.start("gcsim", "pause", "--pid", itoa(victim.cmd.Process.Pid), "--for", "1ms")
	short.want(0)
}
