// Package estest is for tests that need a node of OpenSearch.
package estest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Deadline is for what is sure to happen. Java starts slowly on a machine with much to do.
const Deadline = 3 * time.Minute

// Need leaves a test out where there is no OpenSearch.
func Need(t testing.TB) {
	t.Helper()
	need.Programs(t, "to run OpenSearch", "java")
	if where, bring := esproc.Found(); where == "" {
		need.Missing(t, "the jars of OpenSearch", "to test with a node", "go run ./cmd/"+bring)
	}
}

// Start starts a node for one test, with which it ends.
func Start(t testing.TB) *esproc.Node {
	t.Helper()
	return StartCluster(t, 1).Nodes[0]
}

// StartCluster starts so many nodes for one test, with which they end.
func StartCluster(t testing.TB, nodes int) *esproc.Cluster {
	t.Helper()
	Need(t)
	return proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) (*esproc.Cluster, error) {
		return esproc.Start(ctx, g, nodes)
	})
}

// Main is the TestMain of a program whose tests start nodes, and share one.
func Main(m *testing.M, shared *Node) {
	proctest.Play(esproc.Command(), proc.Janitor())
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Node is one for all tests of a program. The first that asks for it starts it. TestMain closes it.
type Node struct {
	shared proctest.Shared[*esproc.Cluster]
}

func (n *Node) Get(t testing.TB) *esproc.Node {
	t.Helper()
	Need(t)
	return n.shared.Get(t, Deadline, func(ctx context.Context, g *proc.Group) (*esproc.Cluster, error) {
		return esproc.Start(ctx, g, 1)
	}).Nodes[0]
}

func (n *Node) Close() error { return n.shared.Close() }
