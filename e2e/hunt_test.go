package e2e

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHuntedStoriesAreRun: what a hunt has found comes again when its file is run, and the hunt says which pitfall it is.
func TestHuntedStoriesAreRun(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t), filepath.Join(t.TempDir(), "found")
	p := w.start("gcsim", "hunt", "token-file/unfenced", "--stories", "60", "--seed", "3", "--whole", "-o", out)
	p.want(1)
	p.says("corrupted: stale", "like sqlite/1 token-file", "pause CLIENT")
	file := filepath.Join(out, "01-token-file-unfenced-1.yaml")
	run := w.start("gcsim", "run", file)
	run.want(0)
	run.says("corrupted, as expected")
	w.start("gcsim", "check", filepath.Join(out, "01-token-file-unfenced-1", "found", "history.jsonl")).want(0)
}

// TestHuntOfNothing: where tokens are checked, random stories do no harm.
func TestHuntOfNothing(t *testing.T) {
	t.Parallel()
	p := newWorld(t).start("gcsim", "hunt", "gc-pause/fenced", "--stories", "10", "--seed", "1")
	p.want(0)
	p.says("10 stories in", "0 findings")
}

// TestHuntIsStopped: Ctrl-C ends a hunt with what there is, and nothing is left behind.
func TestHuntIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("gcsim", "hunt", "token-file/fenced", "--for", "10m")
	deadline := time.After(patience)
	for len(w.processes()) < 20 { // worlds of several stories
		select {
		case <-deadline:
			t.Fatal("no story is told")
		case <-p.done:
			t.Fatalf("it ended: %s", p.output())
		case <-time.After(10 * time.Millisecond): // looks again
		}
	}
	p.signal(syscall.SIGINT)
	p.want(130)
	p.says("stopped before all was told", "0 findings")
}
