package e2e

import (
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// lanes starts a lane for each process of the main story, which wait at an address.
func (w *world) lanes() (addr string, lanes map[string]*process) {
	addr, lanes = "@"+rand.Text(), make(map[string]*process)
	for _, name := range []string{"etcd", "storage", "client1", "client2"} {
		lanes[name] = w.start("gcsim", "lane", name, "--at", addr)
	}
	return addr, lanes
}

// TestLanes: each lane says in words what its process does, in both runs, and gcsim how
// often the storage helped.
func TestLanes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, lanes := w.lanes()
	p := w.start("gcsim", "run", "gc-pause", "--lanes", addr)
	p.want(0)
	p.says("waiting for the lanes client1, client2, etcd, storage", "REFUSED as stale", "verdict: safe, as expected",
		"stale requests that the storage refused: 0 in 01-gc-pause unfenced, 1 in 01-gc-pause fenced")
	for name, says := range map[string][]string{
		"etcd":    {"etcd1 is process ", "etcd serves endpoint=127.0.0.1:"},
		"storage": {"storage serves url=http://127.0.0.1:", "refused reason=stale", "token=2 mark=4", "fencing is off"},
		"client1": {
			"client1 is process ", "asks: lock /lock", "done: lock /lock (token 2)", "is about to write key0=from-client-1",
			"failed: write key0=from-client-1 (token 2): ", "lost /lock, which it held with token 2",
			"done: write key0=from-client-1 (token 2)", "client1 has ended (signal: killed)",
		},
		"client2": {"done: write key0=from-client-2 (token 4)"},
	} {
		lanes[name].want(0)
		lanes[name].says(says...)
	}
	turns := regexp.MustCompile(`client1 (is process|has ended)`).FindAllString(lanes["client1"].output(), -1)
	if !slices.Equal(turns, []string{"client1 is process", "client1 has ended", "client1 is process", "client1 has ended"}) {
		t.Errorf("the runs share the lanes at a time: %q", turns)
	}
}

// TestLaneOfSeveralProcesses: those of the lock service share a lane, and a client that
// is started again has the lane that it had.
func TestLaneOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, lanes := w.lanes()
	file := filepath.Join(t.TempDir(), "again.yaml")
	if err := os.WriteFile(file, []byte(again), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start("gcsim", "run", file, "--lanes", addr).want(0)
	lanes["etcd"].want(0)
	lanes["etcd"].says("etcd1 is process ", "etcd2 is process ", "etcd3 is process ")
	lanes["client1"].want(0)
	if said := lanes["client1"].output(); strings.Count(said, "\nready\n") != 2 || strings.Count(said, "\ndone: lock") != 2 {
		t.Errorf("client1 was started twice, and its lane says:\n%s", said)
	}
}

const again = `title: t
world: {etcd: {members: 3}}
clients:
  client1: {lock: /lock, ttl: 1s}
  client2: {lock: /lock, ttl: 1s}
steps:
  - client1: lock
  - gcsim: kill client1
  - gcsim: restart client1
  - client1: lock
  - client2: trylock
variants:
  only: {expect: {verdict: safe}}
`

// TestLanesAreOnlyLookedAt: the run goes on without those that stand still or are gone.
func TestLanesAreOnlyLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, lanes := w.lanes()
	p := w.start("gcsim", "run", "gc-pause", "--lanes", addr)
	p.await("client1 is stopped")
	lanes["client1"].signal(syscall.SIGSTOP)
	lanes["client2"].signal(syscall.SIGINT)
	lanes["client2"].want(130)
	p.want(0)
	lanes["client1"].signal(syscall.SIGCONT)
	lanes["client1"].want(0)
	lanes["client1"].says("failed: write key0=from-client-1")
}

// TestLanesEndWithGcsim: whatever ends it, no lane is left, and no process of a lane.
func TestLanesEndWithGcsim(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			w := newWorld(t)
			addr, lanes := w.lanes()
			p := w.start("gcsim", "run", "gc-pause", "--lanes", addr)
			p.await("client1 is stopped")
			p.signal(s)
			p.end()
			for _, lane := range lanes {
				lane.want(0)
			}
		})
	}
}

// TestLanesAreMissing: gcsim can be told to wait no longer.
func TestLanesAreMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := "@" + rand.Text()
	p := w.start("gcsim", "run", "gc-pause", "--lanes", addr)
	p.await("waiting for the lanes")
	second := w.start("gcsim", "run", "gc-pause", "--lanes", addr)
	second.want(2)
	second.says("--lanes "+addr, "choose another address")
	p.signal(syscall.SIGINT)
	p.want(130)
}

// demo prepares the Procfile's demo, with an address and a port of its own.
func demo(t *testing.T) (w *world, start func() *process) {
	need.Program(t, "sh", "to run the Procfile's lines")
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(proctest.Nobody(t))
	if err != nil {
		t.Fatal(err)
	}
	w = newWorld(t)
	w.env = append(w.env, "LANES=@"+rand.Text(), "GOREMAN_RPC_PORT="+port)
	return w, func() *process {
		p := w.prepare(gotool, "tool", "goreman", "start")
		p.cmd.Dir = ".."
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// TestGoreman runs the Procfile's demo as README says, but for its ports.
func TestGoreman(t *testing.T) {
	t.Parallel()
	_, start := demo(t)
	p := start()
	p.want(0)
	p.says("etcd serves endpoint=127.0.0.1:", "done: lock /lock (token 2)", "client1 is stopped (SIGSTOP)", "refused reason=stale",
		"failed: write key0=from-client-1", "stale requests that the storage refused: 0 in 01-gc-pause unfenced, 1 in 01-gc-pause fenced")
}

// TestGoremanWithoutGcsim: when gcsim is killed the demo ends, with another status, and
// newWorld sees that nothing is left.
func TestGoremanWithoutGcsim(t *testing.T) {
	t.Parallel()
	w, start := demo(t)
	p := start()
	p.await("client1 is stopped")
	if err := syscall.Kill(w.find("run gc-pause --lanes"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.want(1)
}
