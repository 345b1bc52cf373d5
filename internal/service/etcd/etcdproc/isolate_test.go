package etcdproc_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// holds reports whether a member has a key, whatever the others have.
func (w *world) holds(m *etcdproc.Member, key string) bool {
	w.t.Helper()
	got, err := w.at(m).Get(w.ctx, key, clientv3.WithSerializable())
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Count == 1
}

// writes reports whether a member does a write within two seconds, which only one that cannot is
// sure not to do.
func (w *world) writes(m *etcdproc.Member, key string) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	_, err := w.at(m).Put(ctx, key, "v")
	return err == nil
}

func (w *world) status(m *etcdproc.Member) *clientv3.StatusResponse {
	w.t.Helper()
	s, err := w.client.Status(w.ctx, m.Endpoint())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// awaitAlone waits until a member knows that nobody leads it.
func (w *world) awaitAlone(m *etcdproc.Member) {
	w.t.Helper()
	for w.status(m).Leader != 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *world) catchUp(m *etcdproc.Member) {
	w.t.Helper()
	if err := m.AwaitCaughtUp(w.ctx); err != nil {
		w.t.Fatal(err)
	}
}

// TestIsolatedLeader: the others elect another and go on. The old one answers its
// clients, and does nothing that takes the others.
func TestIsolatedLeader(t *testing.T) {
	t.Parallel()
	w := startBy(t, 3, etcdproc.StartLinked)
	w.put("before")
	old := w.leader()
	w.catchUp(old)
	w.Isolate(old)
	next := old
	for next == old {
		next = w.leader()
	}
	w.put("by the next")
	if !w.holds(old, "before") {
		t.Errorf("%s does not have what it had", old.Name)
	}
	if w.writes(old, "by the old") || w.holds(old, "by the next") {
		t.Errorf("%s writes, or hears of what the others do", old.Name)
	}
	w.Heal(old)
	w.catchUp(old)
	for _, m := range w.Members {
		w.has(m, "by the next")
	}
}

// TestIsolatedFollower: it knows that it is alone, and does not disturb the leader when
// it is not any more. On a busy machine a leader may change by itself: a follower that
// disturbed would do so at each return.
func TestIsolatedFollower(t *testing.T) {
	t.Parallel()
	w := startBy(t, 3, etcdproc.StartLinked)
	for range 10 {
		if w.returnsQuietly() {
			return
		}
	}
	t.Error("each time that a follower was back, there was another term")
}

// returnsQuietly isolates a follower and brings it back, and reports whether the term is the same.
func (w *world) returnsQuietly() bool {
	w.t.Helper()
	i := 0
	if w.Members[i] == w.leader() {
		i++
	}
	follower := w.Members[i]
	w.Isolate(follower)
	w.awaitAlone(follower)
	w.put("alone")
	leader := w.leader()
	before := w.status(leader)
	w.Heal(follower)
	w.catchUp(follower)
	if !w.holds(follower, "alone") {
		w.t.Errorf("%s has not what was written without it", follower.Name)
	}
	w.put("together")
	after := w.status(leader)
	return after.Leader == before.Leader && after.RaftTerm == before.RaftTerm
}

// TestIsolatedBoth: of two members that are isolated one comes back, and the other does
// not reach it.
func TestIsolatedBoth(t *testing.T) {
	need.Time(t, "to isolate members of one more cluster")
	t.Parallel()
	w := startBy(t, 3, etcdproc.StartLinked)
	w.put("before")
	first, second, third := w.Members[0], w.Members[1], w.Members[2]
	w.catchUp(second)
	w.Isolate(first)
	w.Isolate(second)
	for _, m := range w.Members {
		w.awaitAlone(m)
	}
	w.Heal(first)
	w.catchUp(first)
	w.catchUp(third)
	w.put("by two")
	if w.holds(second, "by two") {
		t.Errorf("%s is isolated and hears of the others", second.Name)
	}
	w.Heal(second)
	w.catchUp(second)
	w.has(second, "by two")
}

// TestRestartedMemberIsIsolated: it is the process of the time that is known by its
// connections.
func TestRestartedMemberIsIsolated(t *testing.T) {
	need.Time(t, "to isolate members of one more cluster")
	t.Parallel()
	w := startBy(t, 3, etcdproc.StartLinked)
	m := w.leader()
	if err := m.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if err := m.Restart(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.catchUp(m)
	w.Isolate(m)
	w.awaitAlone(m)
	w.put("without it")
	if w.holds(m, "without it") {
		t.Errorf("%s is isolated and hears of the others", m.Name)
	}
}
