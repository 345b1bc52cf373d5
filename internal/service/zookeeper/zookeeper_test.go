package zookeeper_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// needs leaves a test out where there is no ZooKeeper.
func needs(t *testing.T) {
	t.Helper()
	need.Programs(t, "to run ZooKeeper", "java")
	if where, bring := zookeeper.Service().Found(); where == "" {
		need.Missing(t, "the jars of ZooKeeper", "to tell the stories on", "go run ./cmd/"+bring)
	}
}

// TestStories tells them on one server where nothing is done to it.
func TestStories(t *testing.T) {
	needs(t)
	shared := labtest.Share(t)
	labtest.Each(t, labtest.Stories(t, services[0]), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		if lab.Lacks(services[0], v) != "" {
			javatest.Need(t)
		}
		labtest.Run(t, s, v, lab.Options{Services: services, Shared: shared})
	})
}

// TestHerd: a release wakes all who wait for the first node, and one of those who wait for the
// node before their own. ZooKeeper's count says so.
func TestHerd(t *testing.T) {
	needs(t)
	const waiting = 6
	for _, s := range services.Parse(t, "../../../scenarios/zookeeper/07-herd.yaml") {
		for i := range s.Variants {
			v := &s.Variants[i]
			if v.Control {
				continue
			}
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				n := released(labtest.Run(t, s, v, lab.Options{Services: services}))
				if herd := v.Name == "herd"; herd != (n >= 2*waiting) || !herd && n > waiting {
					t.Errorf("a release costs %d requests, and %d clients wait", n, waiting)
				}
			})
		}
	}
}

// released is how many requests a release has cost.
func released(events []history.Event) (n int) {
	for _, e := range events {
		_, _ = fmt.Sscanf(e.Text, "ZooKeeper has had %d requests", &n) // the last one counts
	}
	return n
}

// TestStepsWant: each member counts for itself, and ZooKeeper looks for empty containers once in a minute.
func TestStepsWant(t *testing.T) {
	const story = `title: t
world:
  zookeeper: {members: %s}
clients:
  client1: {lock: /lock}
steps:
  - client1: lock
  - client1: unlock
  - gcsim: %s
variants:
  all:
    expect: {verdict: safe}
`
	for _, c := range []struct{ members, step, want string }{
		{"3", "count requests", `ZooKeeper has 3 members, and each counts for itself: it needs "members: 1"`},
		{"1", "isolate observer", `ZooKeeper has no observer: it needs "observer: true"`},
		{"1, observer: true", "isolate observer\n  - gcsim: isolate observer", "the observer is isolated already"},
		{"1", "await removal of /lock", `ZooKeeper looks for empty containers every 1m0s: it needs "containers: 1s", or less`},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", fmt.Appendf(nil, story, c.members, c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that says %s", c.step, err, c.want)
		}
	}
}

// TestClientsWant: whom they talk to has to be there, and clients in other languages ask in their own way.
func TestClientsWant(t *testing.T) {
	for _, c := range []struct{ client, want string }{
		{"member: observer", `ZooKeeper has no observer: it needs "observer: true"`},
		{"member: follower", `ZooKeeper has one member, and so no follower: it needs "members: 3"`},
		{"by: python/kazoo, lost: 20", "python/kazoo has no such setting: leave it out"},
		{"by: zklock, lost: 20", "zklock has no such setting: leave it out"},
		{"lost: 101", "want a number of percent from 1 to 100"},
		{"by: python/kazoo, look: synced", `python/kazoo is a library in a process of its own, which asks ZooKeeper nothing for a look`},
	} {
		story := "title: t\nworld:\n  zookeeper: {}\nclients:\n  client1: {lock: /lock, " + c.client + "}\nsteps:\n  - client1: lock\nvariants:\n  all:\n    expect: {verdict: safe}\n"
		_, err := lab.Language(services).Parse("t.yaml", "t", []byte(story))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that says %s", c.client, err, c.want)
		}
	}
}

// TestThereAlready: runs use a ZooKeeper of others, and leave nothing behind.
func TestThereAlready(t *testing.T) {
	cluster := zktest.Start(t, 1)
	of, endpoints, err := zookeeper.Service().At(cluster.Members[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Reach(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	for _, s := range services.Parse(t, "../../../scenarios/zookeeper/0[14]-*.yaml") {
		for i := range s.Variants {
			labtest.Run(t, s, &s.Variants[i], lab.Options{Services: []*service.Service{of}, Endpoints: endpoints})
		}
	}
	left, _, err := zktest.Connect(t, endpoints, zktest.Deadline).Children("/")
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 { // ZooKeeper's own
		t.Errorf("the runs have left %q behind", left)
	}
}

// TestReachNamesWhatIsMissing: nobody there, no ZooKeeper there, and no address.
func TestReachNamesWhatIsMissing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for addr, want := range map[string]string{
		listener.Addr().String(): "open a session",
		"127.0.0.1:1":            "refused",
	} {
		err := zookeeper.Service().Reach(t.Context(), []string{addr})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: got %v, want an error with the address and %q", addr, err, want)
		}
	}
	if _, _, err := zookeeper.Service().At("localhost"); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
		t.Errorf("got %v, want an error that says what is wanted", err)
	}
}

// TestPython: a client with kazoo goes by its listener, or by what kazoo believes.
func TestPython(t *testing.T) {
	needs(t)
	originaltest.Need(t, python.Name)
	labtest.Tell(t, services.Parse(t, "testdata/python/*.yaml"), lab.Options{Services: services, Shared: labtest.Share(t)})
}

// TestLateUnlock: docs/java.md has what the library says of an unlock that comes too late.
func TestLateUnlock(t *testing.T) {
	needs(t)
	javatest.LateUnlocks(t, "testdata/late/*.yaml", lab.Options{Services: services, Shared: labtest.Share(t)})
}
