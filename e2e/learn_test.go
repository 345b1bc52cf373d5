package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLearn: an exercise is set up, not solved, solved, and stays so.
func TestLearn(t *testing.T) {
	t.Parallel()
	answer := read(t, "../docs/course/exercises/02/answer/story.yaml")
	w := newWorld(t)
	dir := t.TempDir()
	learn := func(says string, status int) {
		t.Helper()
		p := w.prepare("gcsim", "learn", "2")
		p.cmd.Dir = dir
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		p.want(status)
		p.says(says)
	}
	learn("Written: lesson-02/story.yaml", 0)
	learn("not solved yet:\n  lesson-02/story.yaml: nothing in the story was changed yet. Change how the\n    storage checks tokens, and what you expect.\n  the verdict is blocked, want safe", 1)
	if err := os.WriteFile(filepath.Join(dir, "lesson-02", "story.yaml"), []byte(answer), 0o666); err != nil {
		t.Fatal(err)
	}
	learn("Solved. The next one: ", 0)
	learn("Solved. The next one: ", 0)
	list := w.prepare("gcsim", "learn")
	list.cmd.Dir = dir
	if err := list.start(); err != nil {
		t.Fatal(err)
	}
	list.want(0)
	list.says("solved: lesson-02\n")
}
