package scenario_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/fencelab/fencelab/internal/scenario"
)

// TestLongLinesAreCutOff: an error shows the part of a long line where it is wrong.
func TestLongLinesAreCutOff(t *testing.T) {
	for _, before := range []int{0, 50, 159, 160, 1000, 30000} {
		line := strings.Repeat("x", before) + "!" + strings.Repeat("y", 30000)
		got := strings.Split(scenario.Excerpt(strings.Repeat("long ", 10000)+"\nshort\n"+line, 3, before+1), "\n")
		if len(got) != 4 {
			t.Fatalf("%d lines", len(got))
		}
		for _, line := range got {
			if n := ansi.StringWidth(line); n > 200 {
				t.Errorf("a line has %d columns", n)
			}
		}
		caret := ansi.StringWidth(got[3]) - 1
		if at := ansi.Cut(got[2], caret, caret+1); at != "!" {
			t.Errorf("%d before: the caret stands below %q:\n%s\n%s", before, at, got[2], got[3])
		}
	}
}
