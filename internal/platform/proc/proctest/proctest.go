// Package proctest is for tests whose program is also the processes that they start.
package proctest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Play runs the role that the first argument names, and ends the process. It returns where no role is named:
// this process is the one that runs the tests. TestMain calls it first. The janitor is one of the roles.
//
// A process that is named a role which it does not have ends: it would run the tests again,
// and they would start such a process again.
func Play(roles ...*cobra.Command) {
	plays = true
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") { // the flags of go test
		return
	}
	root := &cobra.Command{Use: "test"}
	root.AddCommand(roles...)
	cli.Main(root)
}

// Main is the TestMain of a package whose test binary is the processes of these roles, and their janitor.
func Main(m *testing.M, roles ...*cobra.Command) {
	Play(append(roles, proc.Janitor())...)
	m.Run()
}

// SideBySide has n parallel tests run at once, whatever the number of processors: they wait
// more than they work. The flag -parallel of go test comes before it. TestMain calls it.
func SideBySide(n int) { _ = flag.Set("test.parallel", strconv.Itoa(n)) } // which go test has

// NoFiles are tests that have a folder of their own for temporary files. Their run fails if they
// leave a file there.
type NoFiles struct{ M *testing.M }

// Run runs the tests.
func (n NoFiles) Run() (code int) {
	dir, err := os.MkdirTemp("", "test-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = n.M.Run()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "files are left in %s: %v %v\n", dir, left, err)
		return 1
	}
	if err := os.Remove(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// plays is whether TestMain has called Play.
var plays bool

// Group is a group whose children run the test's program. It ends with the test.
func Group(t testing.TB) *proc.Group {
	t.Helper()
	if !plays {
		t.Fatal("TestMain has not called proctest.Play: the processes of this group would run the tests again")
	}
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

// Started starts something in a group that ends with the test.
func Started[T any](t testing.TB, deadline time.Duration, start func(context.Context, *proc.Group) (T, error)) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	started, err := start(ctx, Group(t))
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// Nobody is an address of loopback where nobody listens, and nobody will who asks the system for any port.
func Nobody(t testing.TB) string {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return free[0]
}
