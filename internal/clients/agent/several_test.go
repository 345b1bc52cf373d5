package agent_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
)

// takes has the agent take a lock by its name.
func (a *agent) takes(t *testing.T, line string) history.Event {
	t.Helper()
	grant := a.wantKind(t, line, history.KindOK)
	if !strings.HasPrefix(grant.Tenure, grant.Scope+"/") {
		t.Fatalf("%s: the tenure of %s is %s", line, grant.Scope, grant.Tenure)
	}
	return grant
}

// wantUnder has the agent do something under a grant.
func (a *agent) wantUnder(t *testing.T, line string, kind history.Kind, grant history.Event) history.Event {
	t.Helper()
	e := a.wantKind(t, line, kind)
	if e.Scope != grant.Scope || e.Tenure != grant.Tenure || e.Token != grant.Token {
		t.Fatalf("%s: under %s, tenure %q, token %d; want %s, %q, %d", line, e.Scope, e.Tenure, e.Token, grant.Scope, grant.Tenure, grant.Token)
	}
	return e
}

// TestAgentHoldsSeveralLocks: a command is about the lock that it names, else about the
// last one that was granted and not unlocked.
func TestAgentHoldsSeveralLocks(t *testing.T) {
	w, a := startAlone(t, "--numbered")
	first, other := a.take(t, "lock"), a.takes(t, "lock /other within 10s")
	if other.Scope != "/other" || other.Token <= first.Token {
		t.Fatalf("grants %+v and %+v", first, other)
	}
	if e := a.wantUnder(t, "write k=1", "ok", other); e.Sequence != 1 {
		t.Errorf("the first write under /other has the sequence %d", e.Sequence)
	}
	if e := a.wantUnder(t, "write k=a under b under /lock", "ok", first); e.Sequence != 1 || e.Value != "a under b" {
		t.Errorf("the first write under /lock is of %q, with the sequence %d", e.Value, e.Sequence)
	}
	if e := a.wantUnder(t, "change k=2 l=2 under /lock", "ok", first); e.Sequence != 2 {
		t.Errorf("the second change under /lock has the sequence %d", e.Sequence)
	}
	a.wantUnder(t, "read k under /lock", "ok", first)
	a.wantUnder(t, "delete k under /lock", "ok", first)
	a.wantUnder(t, "send write k=3 under /lock", "ok", first)
	a.say(t, "begin write k=4 under /lock")
	if e := a.wantNote(t, "it holds /lock,"); e.Tenure != first.Tenure || e.Token != first.Token {
		t.Errorf("it stands under %s, token %v", e.Tenure, e.Token)
	}
	a.wantUnder(t, "finish", "ok", first)
	a.say(t, "begin read k under /lock")
	a.wantNote(t, "is about to read k")
	a.wantUnder(t, "finish", "ok", first)
	a.say(t, "status")
	a.wantNote(t, "holds /lock with")
	a.wantNote(t, "holds /other with")
	wantMark(t, w, "/lock", first.Token)
	wantMark(t, w, "/other", other.Token)

	third := a.takes(t, "trylock /third")
	if e := a.wantKind(t, "lock /lock", "fail"); e.Reason != "held" || e.Scope != "/lock" {
		t.Errorf("a second lock: %+v", e)
	}
	a.wantUnder(t, "write k=5", "ok", third)
	a.wantUnder(t, "unlock /other", "ok", other)
	a.wantUnder(t, "write k=6", "ok", third)
	a.wantUnder(t, "unlock", "ok", third)
	a.wantUnder(t, "write k=7", "ok", first)
	a.wantUnder(t, "unlock /third", "fail", history.Event{Scope: "/third"})
	a.say(t, "begin unlock /lock")
	a.wantNote(t, "is about to unlock /lock")
	a.wantUnder(t, "finish", "ok", first)
	for _, lock := range []string{"/lock", "/other", "/third"} {
		w.WantFree(t, lock)
	}
	if e := a.wantUnder(t, "write k=8 under /other", "fail", history.Event{Scope: "/other"}); e.Reason != "missing" {
		t.Errorf("a write under a lock that it does not hold: %+v", e)
	}
}

// TestAgentLosesOneOfTwoLocks: it says which, and what it does under the other is none
// of the loss's business.
func TestAgentLosesOneOfTwoLocks(t *testing.T) {
	w, a := startAlone(t, "--look", "session")
	first, other := a.take(t, "lock"), a.takes(t, "queue /other") // which has a lease of its own
	w.Revoke(t, other.Tenure)
	if e := a.next(t); e.Kind != history.KindLost || e.Scope != "/other" || e.Tenure != other.Tenure || e.Token != other.Token {
		t.Fatalf("%+v, want the loss of /other", e)
	}
	if e := a.wantUnder(t, "write k=1", "fail", other); e.Reason != "lost" || e.Request != "" {
		t.Errorf("it looks, and writes under a lost lock: %+v", e)
	}
	a.wantUnder(t, "write k=1 under /lock", "ok", first)
	again := a.takes(t, "lock /other")
	if again.Tenure == other.Tenure {
		t.Errorf("the lock that it lost is granted again as %s", again.Tenure)
	}
	a.wantUnder(t, "write k=1", "ok", again)
}

// TestAgentQueuesForSeveralLocks: each wait ends by itself, and is told of under its
// lock, also while the agent waits for another.
func TestAgentQueuesForSeveralLocks(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	one, two := w.Take(t, "/lock"), w.Take(t, "/other")
	a := startAgent(t, w)
	for _, line := range []string{"queue", "queue /other"} {
		a.say(t, line)
		a.next(t)
	}
	place := w.Queue(t, "/other", 2)[1]
	if e := a.wantKind(t, "write k=1", "fail"); e.Scope != "/other" || !strings.HasPrefix(e.Tenure, place+"@") {
		t.Errorf("%+v, want that it is under the place that was taken last", e)
	}
	a.wantKind(t, "unlock /lock", "fail")
	a.say(t, "wait")
	if err := two.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if e := a.next(t); e.Kind != "ok" || e.Op != "lock" || e.Scope != "/other" {
		t.Fatalf("while it waits for /lock: %+v, want /other", e)
	}
	if err := one.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if e := a.next(t); e.Kind != "ok" || e.Op != "lock" || e.Scope != "/lock" {
		t.Fatalf("%+v, want /lock", e)
	}
	// The last place was that of /other, whenever the locks were granted.
	if e := a.wantKind(t, "write k=2", "ok"); e.Scope != "/other" {
		t.Errorf("%+v, want it under /other", e)
	}
}

// TestAgentReleasesSeveralLocksAtTheEnd, the last one first, and leaves the queues.
func TestAgentReleasesSeveralLocksAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			w.Take(t, "/busy")
			w.Take(t, "/full")
			a := startAgent(t, w)
			first := a.take(t, "lock")
			for _, lock := range []string{"/busy", "/full"} {
				a.say(t, "queue "+lock)
				a.next(t)
			}
			other := a.takes(t, "lock /other")
			end(a)
			for range 2 {
				if e := a.next(t); e.Kind != "fail" || e.Op != "lock" || e.Scope != "/busy" && e.Scope != "/full" {
					t.Errorf("%+v, want that it leaves the queues", e)
				}
			}
			for _, grant := range []history.Event{other, first} {
				for _, kind := range []history.Kind{"invoke", "ok"} {
					if e := a.next(t); e.Kind != kind || e.Op != "unlock" || e.Tenure != grant.Tenure {
						t.Errorf("%+v, want %s of an unlock of %s", e, kind, grant.Scope)
					}
				}
			}
			a.wantEnd(t)
			for _, lock := range []string{"/lock", "/other"} {
				w.WantFree(t, lock)
			}
			w.Queue(t, "/busy", 1)
			w.Queue(t, "/full", 1)
		})
	}
}
