package story

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestSoFar: while a story goes on, only what is wrong is the last word.
func TestSoFar(t *testing.T) {
	for want, o := range map[string]Outcome{
		"safe so far": {Name: history.Safe, Free: true, GoesOn: true},
		"safe":        {Name: history.Safe, Free: true},
		"corrupted":   {Name: history.Corrupted, Free: true, GoesOn: true},
	} {
		if got := o.Headline(o.Name, false).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
