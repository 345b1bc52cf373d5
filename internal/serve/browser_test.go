package serve_test

import (
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// tab is the page in a real browser.
type tab struct{ *browsertest.Tab }

// browse opens an address in a browser of its own.
func browse(t *testing.T, url string, on browsertest.Screen) tab {
	t.Helper()
	return tab{browsertest.Open(t, url, on)}
}

// turn waits until the world waits for a step, so many are done, and stage and picture show them.
func (b tab) turn(steps int) {
	b.Await(fmt.Sprintf("(w => w.phase === 'waiting' && w.steps >= %d && document.getElementById('picture').dataset.events === w.events)(document.getElementById('world').dataset)"+
		" && document.getElementById('scene').dataset.frame === document.getElementById('slider').max", steps))
}
