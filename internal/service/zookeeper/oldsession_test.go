package zookeeper_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// TestOldSession: ZooKeeper is gone for longer than the session of a client of Curator, which waits for the lock. Curator
// begins a new session. A ZooKeeper that stood still has ended the old one, and the client's lock is by a node of the
// new session. A ZooKeeper that was killed and started again keeps the old session for a while: Curator 5.9.0 takes
// the node of that session for its own, and says nothing when the node goes with it.
func TestOldSession(t *testing.T) {
	javatest.Need(t)
	for name, o := range map[string]struct {
		begin, end func(context.Context, *zkproc.Member) error
		harmed     bool
	}{
		"stopped": {
			func(ctx context.Context, m *zkproc.Member) error { return m.Pause(ctx) },
			func(_ context.Context, m *zkproc.Member) error { return m.Resume() }, false,
		},
		"killed": {
			func(_ context.Context, m *zkproc.Member) error { return m.Kill() },
			func(ctx context.Context, m *zkproc.Member) error { return m.Restart(ctx) }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := zktest.Start(t, 1).Members[0]
			w := waits(t, member)
			if err := o.begin(t.Context(), member); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * session) // for so long ZooKeeper is gone
			if err := o.end(t.Context(), member); err != nil {
				t.Fatal(err)
			}
			if harmed := w.loses(t); harmed != o.harmed {
				t.Errorf("another client has the lock, and the holder is not told: %v, want %v", harmed, o.harmed)
			}
		})
	}
}

const (
	lockNode = "/lock"
	ahead    = lockNode + "/of-nobody-lock-0000000000" // the node for whose end Curator waits
	session  = 6 * time.Second                         // of the clients of Curator
)

// waiting is a client of Curator that waits for a lock.
type waiting struct {
	first, second *peer.Client
	watcher       *zk.Conn
	granted       chan service.Tenure
}

// waits has a client wait for the end of a node that belongs to no session.
func waits(t *testing.T, member *zkproc.Member) *waiting {
	w := &waiting{
		first: dialCurator(t, member.Addr), second: dialCurator(t, member.Addr),
		watcher: zktest.Connect(t, []string{member.Addr}, time.Minute), granted: make(chan service.Tenure, 1),
	}
	for _, node := range []string{lockNode, ahead} {
		if _, err := w.watcher.Create(node, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), zktest.Deadline)
		defer cancel()
		tenure, err := w.first.Lock(ctx, lockNode, "")
		if err != nil {
			t.Error(err)
		}
		w.granted <- tenure
	}()
	for {
		names, _, changed, err := w.watcher.ChildrenW(lockNode)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 2 {
			return w
		}
		<-changed
	}
}

// loses frees the lock, and reports whether its next holder loses it to another client and is not told.
func (w *waiting) loses(t *testing.T) bool {
	for w.watcher.Delete(ahead, -1) != nil { // the watcher's own connection comes back at its own time
		time.Sleep(10 * time.Millisecond)
	}
	tenure := <-w.granted
	if tenure == nil {
		t.FailNow()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*session) // a session that has gone on elsewhere ends within
	defer cancel()
	if _, err := w.second.Lock(ctx, lockNode, ""); err != nil {
		return false
	}
	return !service.IsClosed(tenure.Done())
}

func dialCurator(t *testing.T, addr string) *peer.Client {
	t.Helper()
	known := slices.Concat(setting.Client, zookeeper.Service().Client)
	settings := setting.Defaults(known)
	for name, value := range map[string]string{service.By: java.Prefix + "curator", setting.TTL: session.String(), setting.Timeout: session.String()} {
		settings[name] = value
	}
	c, err := peer.Start(java.Program("curator", t.TempDir(), "curator", settings), service.Options{Endpoints: []string{addr}, Settings: settings}, known)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if err := c.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
