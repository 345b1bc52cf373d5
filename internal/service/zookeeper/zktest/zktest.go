// Package zktest is for tests on ZooKeeper as processes.
package zktest

import (
	"context"
	"io"
	"log"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Deadline is for what is sure to happen. Java starts slowly on a machine with much to do.
const Deadline = 3 * time.Minute

// Start starts a ZooKeeper of n members, which ends with the test. The test's program must
// have zkproc.Command. The test is left out where Java or the jars are missing.
func Start(t testing.TB, n int) *zkproc.Cluster {
	t.Helper()
	return StartWith(t, zkproc.Config{Members: n})
}

// StartWith is Start of what a config says.
func StartWith(t testing.TB, config zkproc.Config) *zkproc.Cluster {
	t.Helper()
	need.Programs(t, "to run ZooKeeper", "java")
	if where, bring := zkproc.Found(); where == "" {
		need.Missing(t, "the jars of ZooKeeper", "to run it", "go run ./cmd/"+bring)
	}
	return proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) (*zkproc.Cluster, error) {
		return zkproc.Start(ctx, g, config)
	})
}

// Connect is a client with a session. It ends with the test.
func Connect(t testing.TB, servers []string, session time.Duration) *zk.Conn {
	t.Helper()
	client, events, err := zk.Connect(servers, session, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for deadline := time.After(Deadline); client.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-deadline:
			t.Fatalf("no session in %v", Deadline)
		}
	}
	return client
}
