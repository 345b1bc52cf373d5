package scenario_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestLongLinesAreCutOff: an error shows the part of a long line where it is wrong.
func TestLongLinesAreCutOff(t *testing.T) {
	for _, before := range []int{1, 50, 159, 160, 1000, 30000} {
		long := "# " + strings.Repeat("long ", 500) + "\n# short\n{" + strings.Repeat(" ", before-1) + "wrong: " + strings.Repeat("y", 30000) + "}"
		_, err := language.Parse("s", "s", []byte(long))
		if err == nil {
			t.Fatalf("%d before: no error", before)
		}
		got := strings.Split(err.Error(), "\n")[1:]
		if len(got) != 4 {
			t.Fatalf("%d before: %v", before, err)
		}
		for _, line := range got {
			if n := ansi.StringWidth(line); n > 200 {
				t.Errorf("a line has %d columns", n)
			}
		}
		caret := ansi.StringWidth(got[3]) - 1
		if at := ansi.Cut(got[2], caret, caret+1); at != "w" {
			t.Errorf("%d before: the caret stands below %q:\n%s\n%s", before, at, got[2], got[3])
		}
	}
}
