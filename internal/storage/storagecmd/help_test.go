package storagecmd_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

// TestHelp: each command says more of itself than its first line.
func TestHelp(t *testing.T) {
	for _, cmd := range append(storagecmd.Command().Commands(), storagecmd.Command()) {
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no long text, or no examples", cmd.CommandPath())
		}
	}
}
