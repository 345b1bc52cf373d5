package lab

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// victims is a run with a client, a storage and an etcd, of processes that do
// nothing, and nobody's story.
func victims(t *testing.T) *run {
	t.Helper()
	w, err := newWorld(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		world: w, Options: Options{Patience: 300 * time.Millisecond}, variant: &scenario.Variant{},
		hub: make(chan []history.Event), broken: make(chan failure), over: make(chan struct{}),
		recorder: newRecorder(nil, etcd.Service().SlotOf),
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
	r.world.clients[name] = &clientProcess{Process: p}
	return p
}

// TestMeanwhileTells: what is done for a run may tell of something, and fail, also when the run waits no longer for that.
func TestMeanwhileTells(t *testing.T) {
	t.Parallel()
	r := victims(t)
	err := r.Meanwhile(t.Context(), "a node to serve", func(ctx context.Context) error {
		<-ctx.Done()
		r.Tell(history.Event{Lane: "etcd", Kind: history.KindGranted, Scope: "/lock", Tenure: "one"})
		r.Fail(nil, errors.New("the node is gone"))
		return nil
	})
	if !errors.Is(err, errWaiting) {
		t.Errorf("got %v, want %v", err, errWaiting)
	}
	if r.state.ledger.Tenure("one") == nil {
		t.Error("what was told is lost")
	}
}

// TestUnexpectedEnd: a run whose process is killed by somebody says which one, and
// how it ended, whether it waits or is about to tell that process something.
func TestUnexpectedEnd(t *testing.T) {
	t.Parallel()
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
