package laws

import (
	"os/exec"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestQuoted: a shell reads a quoted text as it is, but for the mark of the names.
func TestQuoted(t *testing.T) {
	sh := need.Program(t, "sh", "to read what is quoted")
	j := &judge{mark: "laws-abc"}
	for text, want := range map[string]string{
		`{"op":"write"}`:         `{"op":"write"}`,
		"a`b`$HOME ${S} $(ls)":   "a`b`$HOME ${S} $(ls)",
		`back\slash\\ it's "it"`: `back\slash\\ it's "it"`,
		"/laws-abc-1-lock":       "/new-1-lock",
	} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", `S=new; printf %s "`+j.quoted(text)+`"`).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v", text, out, err)
		}
	}
}
