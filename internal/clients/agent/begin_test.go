package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// TestAgentBeginsAWrite: between the look at the lock and the write the lock is
// lost. The agent writes all the same, and tells of the loss after that.
func TestAgentBeginsAWrite(t *testing.T) {
	w, a := startAlone(t)
	if e := a.wantKind(t, "begin write key0=late", history.KindFail); e.Reason != "lost" || e.Request != "" {
		t.Fatalf("begin without a lock: %+v, want that nothing was sent", e)
	}
	a.wantError(t, "begin key0=late", "want a lock, read, write, delete, change or unlock")
	a.wantError(t, "begin write =late", `the key is ""`)
	a.wantError(t, "finish", "nothing was begun")

	grant := a.take(t, "lock")
	a.say(t, "begin write key0=late")
	if e := a.next(t); e.Kind != history.KindNote || e.Tenure != grant.Tenure || !strings.Contains(e.Text, "is about to write key0=late") {
		t.Fatalf("begin: %+v", e)
	}
	a.wantError(t, "status", "something was begun, finish it first")
	w.Revoke(t, grant.Tenure)
	other := w.Take(t, "/lock")
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: other.Grant().Claim()}, "key0", "other"); err != nil {
		t.Fatal(err)
	}
	select { // a renewal comes each second, and tells it of the loss
	case e := <-a.events:
		t.Fatalf("before the write is done it says %+v", e)
	case <-time.After(1500 * time.Millisecond):
	}
	ask := with(grant, func(e *history.Event) { e.Op, e.Key, e.Value, e.Request = "write", "key0", "late", "client1-1" })
	a.expect(t, "finish", ask, with(ask, func(e *history.Event) {
		e.Kind, e.Reason, e.Mark = "fail", "stale", other.Grant().Token
	}))
	if e := a.next(t); e.Kind != history.KindLost || e.Tenure != grant.Tenure {
		t.Errorf("afterwards it says %+v, want the loss", e)
	}
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}

	// A write that is never finished does not keep the agent from ending.
	again := a.take(t, "lock")
	a.say(t, "begin write key0=never")
	a.next(t)
	a.stdin.Close()
	ask = with(again, func(e *history.Event) { e.Op = history.OpUnlock })
	a.want(t, with(ask, func(e *history.Event) { e.Kind = history.KindInvoke }))
	a.want(t, with(ask, func(e *history.Event) { e.Kind = history.KindOK }))
	a.wantEnd(t)
}

// TestAgentBeginsAnUnlock: until the agent finishes it holds its grant, and what it
// learns of its loss meanwhile it tells after the unlock.
func TestAgentBeginsAnUnlock(t *testing.T) {
	w, a := startAlone(t)
	if e := a.wantKind(t, "begin unlock", history.KindFail); e.Op != history.OpUnlock || e.Text != "holds nothing" {
		t.Fatalf("begin without a lock: %+v", e)
	}

	grant := a.take(t, "lock")
	ask := with(grant, func(e *history.Event) { e.Op = history.OpUnlock })
	done := with(ask, func(e *history.Event) { e.Kind = history.KindOK })
	a.say(t, "begin unlock")
	if e := a.next(t); e.Kind != history.KindNote || e.Op != history.OpUnlock || !strings.Contains(e.Text, "is about to unlock /lock") {
		t.Fatalf("begin: %+v", e)
	}
	w.Queue(t, "/lock", 1) // it is still there
	a.expect(t, "finish", ask, done)
	w.Queue(t, "/lock", 0)

	// One that is never finished is done at the end.
	grant = a.take(t, "lock")
	ask = with(grant, func(e *history.Event) { e.Op = history.OpUnlock })
	a.say(t, "begin unlock")
	a.next(t)
	a.stdin.Close()
	a.want(t, with(ask, func(e *history.Event) { e.Kind = history.KindInvoke }))
	a.want(t, with(ask, func(e *history.Event) { e.Kind = history.KindOK }))
	a.wantEnd(t)
}
