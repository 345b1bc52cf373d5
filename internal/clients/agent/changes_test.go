package agent_test

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

func TestAgentChangesInABatch(t *testing.T) {
	w, a := startAlone(t)
	grant := a.take(t, "lock")
	ask := with(grant, func(e *history.Event) {
		e.Op, e.Request, e.Changes = "change", "client1-1", []history.Change{{Key: "a", Value: "1"}, {Key: "b", Value: ""}}
	})
	a.expect(t, "change a=1 b=", ask, with(ask, func(e *history.Event) { e.Kind = "ok" }))
	w.WantValue(t, "a", "1")
	a.say(t, "begin change a=2 b=x=y")
	a.wantNote(t, "is about to change a=2 b=x=y")
	w.WantValue(t, "a", "1")
	a.wantKind(t, "finish", "ok")
	w.WantValue(t, "a", "2")
	w.WantValue(t, "b", "x=y")
	for _, line := range []string{"change a", "change a=1 b", "begin change a", "begin change ", "begin count a"} {
		a.wantError(t, line, "want ")
	}
	a.wantError(t, "change =1", `the key is ""`)
}

// TestAgentChangesSingly: each write says of which change it is a part, by the ID of
// the first of its writes.
func TestAgentChangesSingly(t *testing.T) {
	w, a := startAlone(t, "--change", "singly", "--numbered", "--look", "nothing")
	first := ""
	wantWrite := func(key, id string, sequence int64, kind history.Kind) {
		t.Helper()
		if key == "a" {
			first = id
		}
		for _, k := range []history.Kind{"invoke", kind} {
			e := a.next(t)
			if e.Op != "write" || e.Kind != k || e.Key != key || e.Request != id || e.Sequence != sequence {
				t.Fatalf("%+v, want %q of %s", e, k, key)
			}
			if k == "invoke" && (e.PartOf != first || !slices.Contains(e.Changes, history.Change{Key: key, Value: e.Value})) {
				t.Errorf("%+v, want that it is a part of a change that began with %s", e, first)
			}
		}
	}
	grant := a.take(t, "lock")
	a.say(t, "change a=1 b=1")
	wantWrite("a", "client1-1", 1, "ok")
	wantWrite("b", "client1-2", 2, "ok")
	a.say(t, "begin change a=2 b=2 c=2")
	wantWrite("a", "client1-3", 3, "ok")
	wantWrite("b", "client1-4", 4, "ok")
	a.wantNote(t, "is about to write c=2")
	w.WantValue(t, "b", "2")
	a.wantError(t, "read a", "something was begun, finish it first")
	a.say(t, "send finish")
	wantWrite("c", "client1-5", 5, "ok")
	a.say(t, "send change a=3 b=3")
	wantWrite("a", "client1-6", 6, "ok")
	wantWrite("b", "client1-7", 7, "ok")

	// It ends where one is refused.
	w.Revoke(t, grant.Tenure)
	if e := a.next(t); e.Kind != history.KindLost {
		t.Fatalf("%+v, want the loss", e)
	}
	other := w.Take(t, "/lock")
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: other.Grant().Claim()}, "a", "other"); err != nil {
		t.Fatal(err)
	}
	a.say(t, "change a=4 b=4")
	wantWrite("a", "client1-8", 8, "fail")
	a.say(t, "begin change a=5 b=5 c=5")
	wantWrite("a", "client1-9", 10, "fail")
	a.say(t, "send change a=6 b=6")
	wantWrite("a", "client1-10", 13, "fail")
	a.say(t, "status")
	a.wantNote(t, "lost /lock")
	w.WantValue(t, "b", "3")
}
