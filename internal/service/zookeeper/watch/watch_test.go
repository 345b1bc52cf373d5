package watch_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// The test binary is its own member of ZooKeeper and janitor.
func TestMain(m *testing.M) { proctest.Main(m, zkproc.Command()) }

// TestStream: what happens below a path is told in order, with its transactions, and nothing
// else is; what was done before an answer has been told by then.
func TestStream(t *testing.T) {
	addr := zktest.Start(t, 1).Members[0].Addr
	var told []watch.Event
	s, err := watch.Follow(t.Context(), addr, []string{"/lock"}, func(e watch.Event) { told = append(told, e) })
	if err != nil {
		t.Fatal(err)
	}
	client := zktest.Connect(t, []string{addr}, zktest.Deadline)
	create := func(path string, flags int32) (string, int64) {
		t.Helper()
		path, err := client.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		_, stat, err := client.Exists(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, stat.Czxid
	}
	_, lock := create("/lock", zk.FlagPersistent)
	create("/locks", zk.FlagPersistent)
	a, czxidA := create("/lock/a-", zk.FlagEphemeralSequential)
	b, czxidB := create("/lock/b-", zk.FlagEphemeralSequential)
	nodes, zxid, err := s.Children(t.Context(), "/lock")
	if err != nil || zxid < czxidB || len(nodes) != 2 || nodes[0].Czxid != czxidA && nodes[0].Czxid != czxidB {
		t.Errorf("got %v at %d, %v, want two nodes with their czxids", nodes, zxid, err)
	}
	if err := s.Delete(t.Context(), "/lock"); err != watch.NotEmpty {
		t.Errorf("got %v, want %v", err, watch.NotEmpty)
	}
	if err := s.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	last, err := s.Position(t.Context())
	if err != nil || last <= czxidB {
		t.Errorf("got the position %d, %v, want that of the last transaction, after %d", last, err, czxidB)
	}
	if nodes, _, err := s.Children(t.Context(), "/none"); len(nodes) != 0 || err != nil {
		t.Errorf("got %v, %v, want nothing of what is not there", nodes, err)
	}
	s.Close() // nothing more is told
	want := []watch.Event{{Path: "/lock", Zxid: lock}, {Path: a, Zxid: czxidA}, {Path: b, Zxid: czxidB}, {Path: a, Zxid: last, Deleted: true}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("want what was done (-), got (+):\n%s", diff)
	}
	if _, err := s.Position(t.Context()); err == nil {
		t.Error("a stream that was closed answers")
	}
}

// TestStreamEndsWithTheMember: who follows it is told.
func TestStreamEndsWithTheMember(t *testing.T) {
	member := zktest.Start(t, 1).Members[0]
	s, err := watch.Follow(t.Context(), member.Addr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := member.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if s.Err() == nil {
		t.Error("the stream does not say why it has ended")
	}
}
