package main

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestZooKeeper: both ways to lock exclude; see wantExclusive.
func TestZooKeeper(t *testing.T) {
	if where, bring := zkproc.Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to lock in it", "go run ./cmd/"+bring)
	}
	s := startBench(t).launch(startZooKeeper)
	wantExclusiveWay(t, way{"zklock", byZKLock, s, true, lockTTL}, "/lock")
	wantExclusiveWay(t, way{"bare requests", byNodes, s, true, lockTTL}, "/lock")
}
