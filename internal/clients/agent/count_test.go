package agent_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

func TestAgentsCount(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	var counting sync.WaitGroup
	for range 3 {
		a := startAgent(t, w, "--ttl", "60s")
		a.say(t, "count n 5")
		counting.Go(func() {
			ops := map[string]int{}
			for e := range a.events {
				if e.Kind == "ok" {
					ops[e.Op]++
				}
				if strings.Contains(e.Text, "attempts") {
					t.Errorf("%+v, and none was in vain", e)
				}
				if e.Op == "count" && e.Kind != "invoke" {
					if e.Kind != "ok" || ops["lock"] != 5 || ops["read"] != 5 || ops["write"] != 5 || ops["unlock"] != 5 {
						t.Errorf("%+v after %v, want 5 of each", e, ops)
					}
					return
				}
			}
		})
	}
	counting.Wait()
	w.WantValue(t, "n", "15")
}

// until is the next event of a kind and op; it returns all before it, too.
func (a *agent) until(t *testing.T, kind history.Kind, op string) (all []history.Event) {
	t.Helper()
	for {
		all = append(all, a.next(t))
		if e := all[len(all)-1]; e.Kind == kind && e.Op == op {
			return all
		}
	}
}

func last(events []history.Event) history.Event { return events[len(events)-1] }

// TestAgentCountStands: it loses its lock where it stands, writes all the same,
// and does the increment again, without standing still.
func TestAgentCountStands(t *testing.T) {
	w, a := startAlone(t)
	a.say(t, "count n 3 2")
	halt := last(a.until(t, "note", "count"))
	if halt.Key != "n" || halt.Tenure == "" || !halt.Token.Valid() || !strings.Contains(halt.Text, "stands before increment 2 of 3") {
		t.Errorf("%+v", halt)
	}
	w.WantValue(t, "n", "1")
	a.wantError(t, "status", "waits for finish")
	w.Revoke(t, halt.Tenure)
	other := w.Take(t, "/lock")
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: other.Grant().Claim()}, "n", "10"); err != nil {
		t.Fatal(err)
	}
	a.say(t, "finish")
	refused := last(a.until(t, "fail", "write"))
	if refused.Reason != "stale" || refused.Value != "2" {
		t.Errorf("%+v, want the write of 2 refused", refused)
	}
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	// It stands there once only: where it is always refused it would go on for ever.
	events := a.until(t, "ok", "count")
	if e := last(events); e.Key != "n" {
		t.Errorf("%+v", e)
	}
	if e := events[len(events)-2]; e.Kind != history.KindNote || !strings.HasSuffix(e.Text, " has made 4 attempts at 3 increments") {
		t.Errorf("%+v, want a note of the attempts", e)
	}
	w.WantValue(t, "n", "12")
	a.say(t, "status") // it stands no more
	a.wantNote(t, "holds nothing")
}

// TestAgentCountLooks: where it is to stand it looks first, and a lock that was
// lost by then is taken again.
func TestAgentCountLooks(t *testing.T) {
	w, a := startAlone(t, "--delay", "2500ms") // time to learn of the loss
	a.say(t, "count n 1 1")
	lost := last(a.until(t, "note", "lock"))
	w.Revoke(t, lost.Tenure)
	if halt := last(a.until(t, "note", "count")); halt.Tenure == lost.Tenure {
		t.Errorf("%+v, want that it stands under the next lock", halt)
	}
	a.say(t, "finish")
	a.until(t, "ok", "count")
	w.WantValue(t, "n", "1")
}

func TestAgentCountWaitsAgain(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a := startAgent(t, w)
	a.say(t, "count n 1")
	w.Revoke(t, w.Queue(t, "/lock", 2)[1])
	a.until(t, "fail", "lock")
	a.until(t, "invoke", "lock")
	w.Queue(t, "/lock", 2)
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	a.until(t, "ok", "count")
}

func TestAgentCountFails(t *testing.T) {
	w, a := startAlone(t)
	for _, line := range []string{"count n", "count n 0", "count n x", "count n 3 4", "count n 3 0", "count n 3 1,", "count n 3 1 2"} {
		a.wantError(t, line, `want "count KEY N"`)
	}
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 1}}, "n", "many"); err != nil {
		t.Fatal(err)
	}
	a.say(t, "count n 3")
	if e := last(a.until(t, "fail", "count")); !strings.Contains(e.Text, "increment 1 of 3: n is no number") {
		t.Errorf("%+v", e)
	}
	w.WantFree(t, "/lock")
	// A holder that is always refused does not try for ever.
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 1 << 40}}, "n", "1"); err != nil {
		t.Fatal(err)
	}
	a.say(t, "count n 3")
	if e := last(a.until(t, "fail", "count")); !strings.Contains(e.Text, "increment 1 of 3: the lock was lost, or the token refused as stale, 20 times") {
		t.Errorf("%+v", e)
	}

	b := startAgent(t, w, "--lock", "/other")
	b.say(t, "count m 1 1")
	b.until(t, "note", "count")
	b.stdin.Close()
	if e := last(b.until(t, "fail", "count")); !strings.Contains(e.Text, "the input ended") {
		t.Errorf("%+v", e)
	}
	b.wantEnd(t)
	w.WantFree(t, "/other")
}
