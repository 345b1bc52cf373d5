package lab

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/etcdproc"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
)

// victims is a run with a client, a storage and an etcd, of processes that do
// nothing, and nobody's story.
func victims(t *testing.T) *run {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	w, err := newWorld(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		world: w, patience: 300 * time.Millisecond, variant: &scenario.Variant{},
		hub: make(chan history.Event), broken: make(chan failure), over: make(chan struct{}),
		recorder: newRecorder(nil),
	}
	r.state = newState(r.recorder)
	t.Cleanup(func() {
		close(r.over)
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// idle starts a process that waits for its input to end.
func (r *run) idle(t *testing.T, name string) *proc.Process {
	t.Helper()
	p, err := r.world.group.Start(name, nil, proc.JanitorArg, r.world.group.Dir+"/none")
	if err != nil {
		t.Fatal(err)
	}
	r.world.clients[name] = p
	return p
}

// TestUnexpectedEnd: a run whose process is killed by somebody says which one, and
// how it ended, whether it waits or is about to tell that process something.
func TestUnexpectedEnd(t *testing.T) {
	const want = "client1 ended (signal: killed)"
	r := victims(t)
	p := r.idle(t, "client1")
	r.world.readers.Go(func() { r.readLines(p, p.Stdout, func([]byte) error { return nil }) })
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := r.await(t.Context(), "nothing", 10*time.Second, func() (bool, error) { return false, nil })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := r.command("client1", "lock"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNobodyLeads: an etcd that has no leader when a run begins does not hold it up
// for ever.
func TestNobodyLeads(t *testing.T) {
	r := victims(t)
	r.world.etcd = &etcdproc.Cluster{Members: []*etcdproc.Member{{}, {}, {}}} // that nobody started
	for _, member := range []string{scenario.MemberLeader, scenario.MemberFollower} {
		if _, err := r.member(t.Context(), member); err == nil || !strings.Contains(err.Error(), "still waiting for a leader of etcd") {
			t.Errorf("%s: got %v, want what it waited for", member, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.observeWell(ctx); err == nil || !strings.Contains(err.Error(), "still waiting for a leader of etcd") {
		t.Errorf("got %v, want what it waited for", err)
	}
}
