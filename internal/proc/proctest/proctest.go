// Package proctest is for tests whose program is also the processes that they start.
package proctest

import (
	"os"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/proc"
)

// Play runs the role that the first argument names, and ends the process. It returns where
// no role is named: this process is the one that runs the tests. TestMain calls it first.
// The janitor is one of the roles.
func Play(roles ...*cobra.Command) {
	named := func(role *cobra.Command) bool { return role.Name() == os.Args[1] }
	if len(os.Args) < 2 || !slices.ContainsFunc(roles, named) {
		return
	}
	root := &cobra.Command{Use: "test"}
	root.AddCommand(roles...)
	cli.Main(root)
}

// Group is a group whose children run the test's program. It ends with the test.
func Group(t testing.TB) *proc.Group {
	t.Helper()
	g, err := proc.NewGroup(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
