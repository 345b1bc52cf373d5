package storagecmd

import "testing"

// TestHelp: each command says more of itself than its first line.
func TestHelp(t *testing.T) {
	for _, cmd := range append(Command().Commands(), Command()) {
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no long text, or no examples", cmd.CommandPath())
		}
	}
}
