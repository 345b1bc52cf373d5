package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestIncident: a history that a program makes of its own logs is judged, and drawn.
func TestIncident(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3", "to make a history of an incident")
	logs, err := os.ReadFile("../examples/incident/incident.csv")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	written := func(name, logs string) string {
		cmd := exec.Command(python, "../examples/incident/history.py")
		cmd.Stdin, cmd.Stderr = strings.NewReader(logs), t.Output()
		lines, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	incident := written("incident.jsonl", string(logs))
	p := w.start("gcsim", "check", incident)
	p.want(1)
	p.says("worker-b's", "order-17=shipped is destroyed", "verdict: corrupted: worker-b's write is lost")
	w.start("gcsim", "draw", "-o", filepath.Join(t.TempDir(), "incident.svg"), incident).want(0)

	// The same with a lock that outlives the pause: worker-b gets it later.
	var mended []string
	for line := range strings.Lines(string(logs)) {
		if !strings.Contains(line, ",b1") && !strings.Contains(line, ",expired,") {
			mended = append(mended, line)
		}
	}
	p = w.start("gcsim", "check", written("mended.jsonl", strings.Join(mended, "")))
	p.want(0)
	p.says("verdict: safe")

	// The lock service has no log.
	var blind []string
	for line := range strings.Lines(string(logs)) {
		if !strings.Contains(line, ",redis,") {
			blind = append(blind, line)
		}
	}
	unserved := written("blind.jsonl", strings.Join(blind, ""))
	p = w.start("gcsim", "check", "--ttl", "10s", "--skew", "0", unserved)
	p.want(1)
	p.says("verdict: corrupted: worker-b's write is lost", "exclusive: yes", "holds the lock, by its own word")
	p = w.start("gcsim", "check", unserved)
	p.want(3)
	p.says("verdict: undecided", "the clocks of its clients", "--skew")
}
