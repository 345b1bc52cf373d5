package etcdproc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

func (w *world) leader() *etcdproc.Member {
	w.t.Helper()
	m, err := w.Leader(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// TestLeader makes each member in turn the leader.
func TestLeader(t *testing.T) {
	t.Parallel()
	w := start(t, 3)
	for _, m := range w.Members {
		status, err := w.client.Status(w.ctx, m.Endpoint())
		if err != nil {
			t.Fatal(err)
		}
		for old := w.leader(); old != m; old = w.leader() {
			if _, err := w.at(old).MoveLeader(w.ctx, status.Header.MemberId); err != nil && w.ctx.Err() != nil {
				t.Fatalf("%s does not come to lead: %v", m.Name, err)
			}
		}
	}
}

func TestKilledLeader(t *testing.T) {
	t.Parallel()
	w := start(t, 3)
	w.put("before")
	old := w.leader()
	if err := old.Restart(w.ctx); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Fatalf("restart of a member that runs: %v", err)
	}
	if err := old.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	w.put("while it is gone")
	if w.leader() == old {
		t.Error("the killed member leads")
	}
	if err := old.Restart(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.has(old, "before")
	w.has(old, "while it is gone")
}

// TestPausedLeader: the next leader is told of when it is elected, and the old one
// is none when it goes on, whatever it thinks, unless it is elected again.
func TestPausedLeader(t *testing.T) {
	t.Parallel()
	w := start(t, 3)
	w.put("before")
	old := w.leader()
	before := w.status(old).RaftTerm
	if err := old.Process().Pause(); err != nil {
		t.Fatal(err)
	}
	if w.leader() == old {
		t.Error("the paused member leads")
	}
	w.put("while it stands still")
	if err := old.Process().Resume(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if w.leader() == old && w.status(old).RaftTerm == before {
			t.Error("the member that was paused leads in the term of before")
		}
	}
	w.has(old, "while it stands still")
}

// TestNoLeader: the one that led has nobody left to lead, and may not know yet.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	w := start(t, 3)
	leader := w.leader()
	for _, m := range w.Members {
		if m != leader {
			if err := m.Process().Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	enough := errors.New("long enough")
	ctx, cancel := context.WithTimeoutCause(w.ctx, time.Second, enough)
	defer cancel()
	if m, err := w.Leader(ctx); !errors.Is(err, enough) {
		t.Errorf("got %v, %v, want %v", m, err, enough)
	}
}
