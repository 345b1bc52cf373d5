package agent_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestAgentSharesALock: two readers work under one lock, the later one first.
func TestAgentSharesALock(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	earlier, later := startAgent(t, w, "--mode", "shared"), startAgent(t, w, "--mode", "shared")
	first := earlier.take(t, "lock")
	second := later.take(t, "trylock")
	for i, a := range []*agent{later, earlier} {
		e := a.wantKind(t, "read key0", "ok")
		if want := []history.Event{second, first}[i]; e.Mode != fence.Shared || e.Token != want.Token {
			t.Errorf("%+v, want a shared claim of %+v", e, want)
		}
	}
	if m, err := w.KV.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{Shared: second.Token}) {
		t.Errorf("the mark is %+v, %v, want that of shared claims alone, %v", m, err, second.Token)
	}
	if e := earlier.wantKind(t, "unlock", "ok"); e.Mode != fence.Exclusive {
		t.Errorf("%+v: an unlock makes no claim", e)
	}
	writer := startAgent(t, w)
	if e := writer.wantKind(t, "trylock", "fail"); e.Text != "another tenure has the lock" {
		t.Errorf("a writer beside a reader: %+v", e)
	}
	later.wantKind(t, "unlock", "ok")
	writer.take(t, "lock")
	if e := writer.wantKind(t, "write key0=x", "ok"); e.Mode != fence.Exclusive {
		t.Errorf("%+v, want an exclusive claim", e)
	}
}

// TestAgentDoesNotSayThatItShares: an earlier reader is stale then, though it holds the
// lock.
func TestAgentDoesNotSayThatItShares(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	args := []string{"--mode", "shared", "--claims", "exclusive"}
	earlier, later := startAgent(t, w, args...), startAgent(t, w, args...)
	earlier.take(t, "lock")
	second := later.take(t, "lock")
	if e := later.wantKind(t, "read key0", "ok"); e.Mode != fence.Exclusive {
		t.Errorf("%+v, want an exclusive claim", e)
	}
	wantMark(t, w, "/lock", second.Token)
	if e := earlier.wantKind(t, "read key0", "fail"); e.Reason != "stale" || e.Mark != second.Token {
		t.Errorf("%+v, want that it is stale", e)
	}
}

// TestAgentShowsNoModeWithoutAToken: a claim that is none has no mode.
func TestAgentShowsNoModeWithoutAToken(t *testing.T) {
	_, a := startAlone(t, "--mode", "shared", "--reads", "plain")
	a.take(t, "lock")
	if e := a.wantKind(t, "read key0", "ok"); e.Mode != fence.Exclusive || e.Token != 0 {
		t.Errorf("%+v, want neither token nor mode", e)
	}
}

// TestAgentQueuesToShare behind a writer, and has the lock when that lets go.
func TestAgentQueuesToShare(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a := startAgent(t, w, "--mode", "shared", "--token", "header")
	key := a.enqueue(t, w, 1)
	e := a.wantKind(t, "read key0", "fail") // it is not sent
	if e.Mode != fence.Shared || e.Tenure != key+"@"+e.Token.String() {
		t.Errorf("%+v, want the mode, the token and the tenure of its place, %s", e, key)
	}
	a.say(t, "status")
	a.wantNote(t, "waits for /lock")
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if got := a.next(t); got.Kind != history.KindOK || got.Tenure != e.Tenure || got.Token <= e.Token {
		t.Errorf("%+v, want the grant of %s, with the header's revision", got, e.Tenure)
	}
	w.Revoke(t, key)
	if got := a.next(t); got.Kind != history.KindLost || got.Tenure != e.Tenure {
		t.Errorf("%+v, want the loss", got)
	}
	if got := a.wantKind(t, "unlock", "fail"); got.Text != "that tenure is over" {
		t.Errorf("unlock after the loss: %+v", got)
	}
}

// TestAgentGivesUpToShare: it leaves nothing in the queue.
func TestAgentGivesUpToShare(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	w.Take(t, "/lock")
	a := startAgent(t, w, "--mode", "shared")
	a.enqueue(t, w, 1)
	a.say(t, "wait within 100ms")
	if got := a.next(t); got.Kind != history.KindFail || got.Op != history.OpLock {
		t.Errorf("%+v, want that it was not granted the lock", got)
	}
	w.Queue(t, "/lock", 1)
}
