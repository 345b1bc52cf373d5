package e2e

import (
	"path/filepath"
	"testing"
)

// TestExploredStoriesAreRun: real processes tell the smallest story that was found, with the verdict of its file, each time.
func TestExploredStoriesAreRun(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"gc-pause/unfenced", "paused-watchdog/watchdog", "token-file/unfenced"} {
		t.Run(variant, func(t *testing.T) {
			w := newWorld(t)
			file := filepath.Join(t.TempDir(), "found.yaml")
			w.start("gcsim", "explore", variant, "-o", file).want(1)
			p := w.start("gcsim", "run", "--repeat", "5", file)
			p.want(0)
			p.says("corrupted, as expected")
		})
	}
}
