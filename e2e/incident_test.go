package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestIncident: a history that a program makes of its own logs is judged, and drawn. The clocks of their hosts differ
// by 40 seconds.
func TestIncident(t *testing.T) {
	t.Parallel()
	const incident = "../examples/incident/"
	python := need.Program(t, "python3", "to make a history of an incident")
	w := newWorld(t)
	// written is the history that is made of logs, without what edit removes from each.
	written := func(edit *regexp.Regexp, names ...string) string {
		dir := t.TempDir()
		args := []string{incident + "history.py"}
		for _, name := range names {
			text, err := os.ReadFile(incident + name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, edit.ReplaceAll(text, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		cmd := exec.Command(python, args...)
		cmd.Stderr = t.Output()
		lines, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "incident.jsonl")
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := regexp.MustCompile(`^$`)

	unserved := written(whole, "worker-a.log", "worker-b.log", "binlog.txt")
	p := w.start("gcsim", "check", "--ttl", "10s", unserved)
	p.want(1)
	p.says("worker-b's", "order-17=shipped is destroyed", "verdict: corrupted: worker-b's write is lost", "exclusive: yes", "worker-b: -40.2", "holds the lock, by its own word")
	w.start("gcsim", "draw", "-o", filepath.Join(t.TempDir(), "incident.svg"), unserved).want(0)
	p = w.start("gcsim", "check", "--ttl", "10s", "--skew", "1s", unserved)
	p.want(2)
	p.says("the storage's order contradicts --skew")

	served := written(whole, "worker-a.log", "worker-b.log", "binlog.txt", "appendonly.aof")
	p = w.start("gcsim", "check", served)
	p.want(1)
	p.says("verdict: corrupted: worker-b's write is lost")

	// Without the late write.
	mended := regexp.MustCompile("(?m)^.*worker-a (sets|has set) order 17.*\n|^### UPDATE .*\n(###.*\n){5}.*'cancelled'\n")
	p = w.start("gcsim", "check", "--ttl", "10s", written(mended, "worker-a.log", "worker-b.log", "binlog.txt"))
	p.want(0)
	p.says("verdict: safe")

	// Of order 17 alone the storage's order says only that worker-a was the later one.
	one := regexp.MustCompile("(?m)^.*T06:(01:16.2|01:56|01:31|02:11).*\n|^### UPDATE .*\n(###.*\n){4}###   @1=1[68]\n.*\n")
	p = w.start("gcsim", "check", "--ttl", "10s", written(one, "worker-a.log", "worker-b.log", "binlog.txt"))
	p.want(3)
	p.says("verdict: undecided", "the clocks of its clients", "--skew")
}
