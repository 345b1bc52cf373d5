package zookeeper_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// TestOldNode: a client that opens a new session while ZooKeeper keeps the old one sees the
// node of the old session. When ZooKeeper has told it that the old session has expired, it
// does not see that node any more, also at a member that was behind.
func TestOldNode(t *testing.T) {
	cluster := zktest.Start(t, 3)
	leader, err := cluster.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	follower := cluster.Members[0]
	if follower == leader {
		follower = cluster.Members[1]
	}
	client := zktest.Connect(t, []string{follower.Addr}, 3*time.Second)
	old := client.SessionID()
	if _, err := client.Create("/old", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	impatient := zktest.Connect(t, []string{follower.Addr}, 3*time.Second)
	if there, _, err := impatient.Exists("/old"); err != nil || !there {
		t.Errorf("a second session sees the node: %v (%v), want true", there, err)
	}
	observer := zktest.Connect(t, []string{leader.Addr}, zktest.Deadline)
	there, _, gone, err := observer.ExistsW("/old")
	if err != nil || !there {
		t.Fatalf("the node is there: %v (%v), want true", there, err)
	}

	if err := follower.Process().Pause(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(zktest.Deadline):
		t.Fatal("the old session does not expire")
	}
	if err := follower.Process().Resume(); err != nil {
		t.Fatal(err)
	}
	there, _, err = client.Exists("/old")
	for deadline := time.Now().Add(zktest.Deadline); err != nil && time.Now().Before(deadline); {
		there, _, err = client.Exists("/old")
	}
	if err != nil || client.SessionID() == old || there {
		t.Errorf("in the session %#x after %#x the old node is there: %v (%v), want a new session without it", client.SessionID(), old, there, err)
	}
}
