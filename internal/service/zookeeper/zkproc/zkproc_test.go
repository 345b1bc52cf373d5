package zkproc_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

func TestMain(m *testing.M) { proctest.Main(m, zkproc.Command()) }

// bounded is a context that ends with the test, or at the deadline.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), zktest.Deadline)
	t.Cleanup(cancel)
	return ctx
}

// TestLife: a server is stopped for a while, killed and started again on what it has kept.
func TestLife(t *testing.T) {
	ctx, c := bounded(t), zktest.Start(t, 1)
	server := c.Members[0]
	client := zktest.Connect(t, c.Endpoints(), 30*time.Second)
	if _, err := client.Create("/kept", []byte("it"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if leader, err := c.Leader(ctx); err != nil || leader != server {
		t.Errorf("the leader is %v, %v, want the only member", leader, err)
	}

	if err := server.Process().Pause(); err != nil {
		t.Fatal(err)
	}
	still, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if leader, err := c.Leader(still); err == nil {
		t.Errorf("%s leads, and stands still", leader.Name)
	}
	if err := server.Process().Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leader(ctx); err != nil {
		t.Fatal(err)
	}

	if err := server.Restart(ctx); err == nil || err.Error() != "zookeeper1 still runs: kill it first" {
		t.Errorf("started again while it runs: %v", err)
	}
	if err := server.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	client = zktest.Connect(t, c.Endpoints(), 30*time.Second)
	if data, _, err := client.Get("/kept"); err != nil || string(data) != "it" {
		t.Errorf("it has kept %q, %v", data, err)
	}
}

// TestPortTaken: a server that cannot start says why.
func TestPortTaken(t *testing.T) {
	ctx, c := bounded(t), zktest.Start(t, 1)
	server := c.Members[0]
	if err := server.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := server.Restart(ctx); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("got %v", err)
	}
}

// TestLeader: where the leader is killed, or stands still, another member leads; where most
// members stand still nobody does; and the members have what was written before.
func TestLeader(t *testing.T) {
	ctx, c := bounded(t), zktest.Start(t, 3)
	client := zktest.Connect(t, c.Endpoints(), 30*time.Second)
	if _, err := client.Create("/kept", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	leader := func() *zkproc.Member {
		t.Helper()
		m, err := c.Leader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	killed := leader()
	if err := killed.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if second := leader(); second == killed {
		t.Fatalf("%s leads, and is dead", killed.Name)
	}
	if err := killed.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	paused := leader()
	if err := paused.Process().Pause(); err != nil {
		t.Fatal(err)
	}
	if third := leader(); third == paused {
		t.Fatalf("%s leads, and stands still", paused.Name)
	}
	if err := paused.Process().Resume(); err != nil {
		t.Fatal(err)
	}
	last := leader()
	if last == paused {
		t.Errorf("%s leads again", paused.Name)
	}
	followers := func(do func(*proc.Process) error) {
		t.Helper()
		for _, m := range c.Members {
			if m == last {
				continue
			}
			if err := do(m.Process()); err != nil {
				t.Fatal(err)
			}
		}
	}
	followers((*proc.Process).Pause)
	still, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if m, err := c.Leader(still); err == nil {
		t.Errorf("%s leads nobody", m.Name)
	}
	followers((*proc.Process).Resume)
	leader()
	client = zktest.Connect(t, c.Endpoints(), 30*time.Second)
	if there, _, err := client.Exists("/kept"); err != nil || !there {
		t.Errorf("what was written is there: %v, %v", there, err)
	}
}

// TestObserver: one that is isolated answers with what it has, and cannot catch up. It has no vote.
func TestObserver(t *testing.T) {
	ctx, c := bounded(t), zktest.StartWith(t, zkproc.Config{Members: 1, Observer: true})
	if leader, err := c.Leader(ctx); err != nil || leader != c.Members[0] {
		t.Errorf("the leader is %v, %v, want the only member that votes", leader, err)
	}
	member, observed := zktest.Connect(t, c.Endpoints(), time.Minute), zktest.Connect(t, []string{c.Observer.Addr}, time.Minute)
	if _, err := observed.Sync("/"); err != nil {
		t.Fatal(err)
	}
	c.Observer.Isolate()
	if _, err := member.Create("/after", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if there, _, err := observed.Exists("/after"); err != nil || there {
		t.Errorf("what was done since is there: %v (%v), want false", there, err)
	}
	synced := make(chan error, 1)
	go func() {
		_, err := observed.Sync("/")
		synced <- err
	}()
	select {
	case err := <-synced:
		t.Errorf("it has caught up: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestMissing: without Java or the jars it is said what brings them.
func TestMissing(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if where, bring := zkproc.Found(); where != "" || bring != maven.InstallJava {
		t.Errorf("without Java it is found in %q, or brought by %q", where, bring)
	}
	if err := os.WriteFile(filepath.Join(bin, "java"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if where, bring := zkproc.Found(); where != "" || bring != zkproc.GetJars {
		t.Errorf("without jars it is found in %q, or brought by %q", where, bring)
	}
	_, err := zkproc.Start(t.Context(), proctest.Group(t), zkproc.Config{Members: 1})
	if want := "zookeeper is missing: " + zkproc.GetJars; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestRequests: a member counts what the sessions with nodes ask, and waits with its answer
// until who stands in a queue watches.
func TestRequests(t *testing.T) {
	ctx, c := bounded(t), zktest.Start(t, 1)
	server := c.Members[0]
	first, second := zktest.Connect(t, c.Endpoints(), time.Minute), zktest.Connect(t, c.Endpoints(), time.Minute)
	if _, err := first.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, client := range []*zk.Conn{first, second} {
		node, err := client.Create("/lock/", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if n, err := server.Requests(soon, nil); err == nil {
		t.Errorf("it counts %v, and one client watches nothing yet", n)
	}
	if _, _, _, err := second.GetW(nodes[0]); err != nil {
		t.Fatal(err)
	}
	before, err := server.Requests(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Delete(nodes[0], -1); err != nil {
		t.Fatal(err)
	}
	after, err := server.Requests(ctx, before)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for session, n := range after {
		asked += n - before[session]
	}
	if len(before) != 2 || len(after) != 2 || asked != 1 {
		t.Errorf("it counts %v, and then %v: want two sessions, and one request more", before, after)
	}
}
