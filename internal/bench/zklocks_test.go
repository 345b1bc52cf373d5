package main

import (
	"testing"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
)

// TestZooKeeper: both ways to lock exclude; see wantExclusive.
func TestZooKeeper(t *testing.T) {
	if where, bring := zkproc.Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to lock in it", "go run ./cmd/"+bring)
	}
	cluster, err := zkproc.Start(t.Context(), startBench(t).group, 1)
	if err != nil {
		t.Fatal(err)
	}
	ours, bare, end, err := zkLocks(cluster.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	wantExclusive(t, ours, ours, "/lock")
	wantExclusive(t, bare, bare, "/lock")
}
