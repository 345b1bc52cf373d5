package agent_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
)

// enqueue has the agent wait for the lock in the background.
func (a *agent) enqueue(t *testing.T, w *clienttest.World, before int) (key string) {
	t.Helper()
	a.say(t, "queue")
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	return w.Queue(t, "/lock", before+1)[before]
}

func TestAgentQueues(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"own", "kept"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			other := w.Take(t, "/lock")
			a := startAgent(t, w, "--session", session, "--look", "is-owner")
			key := a.enqueue(t, w, 1)

			// It works before it has the lock, as etcd says that its key is there.
			a.say(t, "begin write key0=x")
			a.wantNote(t, "by Mutex.IsOwner")
			e := a.wantKind(t, "finish", "ok")
			if e.Token <= other.Grant().Token || e.Tenure != key+"@"+e.Token.String() {
				t.Errorf("%+v, want the token and the tenure of its place, %s", e, key)
			}
			if again := a.wantKind(t, "trylock", "fail"); again.Reason != "held" {
				t.Errorf("trylock: %+v", again)
			}
			if e := a.wantKind(t, "unlock", "fail"); e.Tenure != "" {
				t.Errorf("unlock: %+v, want no tenure, as it holds none", e)
			}
			a.say(t, "status")
			a.wantNote(t, "waits for /lock")
			if err := other.Unlock(clienttest.Within(t)); err != nil {
				t.Fatal(err)
			}
			a.want(t, history.Event{Kind: "ok", Op: "lock", Scope: "/lock", Tenure: e.Tenure, Token: e.Token})
			a.wantKind(t, "unlock", "ok")
			w.WantFree(t, "/lock")
		})
	}
}

// TestAgentLocksWhatItQueuesFor: "lock" then awaits the lock that was asked for.
func TestAgentLocksWhatItQueuesFor(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a := startAgent(t, w)
	key := a.enqueue(t, w, 1)
	a.say(t, "lock")
	a.say(t, "status") // is not looked at before the lock is there
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if e := a.next(t); e.Kind != "ok" || e.Tenure != key+"@"+e.Token.String() {
		t.Errorf("%+v, want the lock", e)
	}
	a.wantNote(t, "holds /lock")
}

func TestAgentQueuesForAFreeLock(t *testing.T) {
	w, a := startAlone(t)
	if e := a.wantKind(t, "queue", "ok"); e.Op != "lock" {
		t.Errorf("%+v", e)
	}
	if e := a.wantKind(t, "queue", "fail"); e.Reason != "held" {
		t.Errorf("%+v", e)
	}
	a.wantKind(t, "unlock", "ok") // and with it goes the session
	if leases, err := w.Etcd.Leases(clienttest.Within(t)); err != nil || len(leases.Leases) != 0 {
		t.Errorf("left: %v, %v", leases, err)
	}
}

// TestAgentQueuesWithoutAHeader: there is none before the grant.
func TestAgentQueuesWithoutAHeader(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a := startAgent(t, w, "--token", "header")
	key := a.enqueue(t, w, 1)
	e := a.wantKind(t, "read key0", "fail") // it is not sent
	if e.Tenure != key+"@"+e.Token.String() {
		t.Errorf("%+v, want the create revision as the token of its place", e)
	}
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if grant := a.next(t); grant.Kind != "ok" || grant.Tenure != e.Tenure || grant.Token <= e.Token {
		t.Errorf("%+v, want the lock, with a higher revision as its token", grant)
	}
}

func TestAgentLeavesTheQueueAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		for _, session := range []string{"own", "kept"} {
			t.Run(name+", "+session, func(t *testing.T) {
				t.Parallel()
				w := clienttest.New(t)
				w.Take(t, "/lock")
				a := startAgent(t, w, "--session", session)
				a.enqueue(t, w, 1)
				end(a)
				if e := a.next(t); e.Kind == "ok" || e.Op != "lock" {
					t.Errorf("%+v, want that it did not get the lock", e)
				}
				a.wantEnd(t)
				w.Queue(t, "/lock", 1)
			})
		}
	}
}

func TestAgentQueuesInVain(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a := startAgent(t, w)
	w.Revoke(t, a.enqueue(t, w, 1))
	w.Queue(t, "/lock", 1)
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if e := a.next(t); e.Kind != "fail" || e.Op != "lock" || e.Reason != "expired" {
		t.Errorf("%+v, want that its place was lost", e)
	}
	a.take(t, "lock")
}

// TestAgentLeavesTheQueueOfASilentEtcd: the end is bounded.
func TestAgentLeavesTheQueueOfASilentEtcd(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"own", "kept"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			link := linkTo(t, w)
			w.Take(t, "/lock")
			a := startAgent(t, w, "--session", session, "--timeout", "1s", "--ttl", "60s")
			a.enqueue(t, w, 1)
			a.say(t, "status")
			a.wantNote(t, "waits for /lock") // and so knows its place
			link.Rx.Shut()
			a.stdin.Close()
			if e := a.next(t); e.Op != "lock" || e.Kind != "unknown" {
				t.Errorf("%+v, want that its place may be left", e)
			}
			a.wantEnd(t)
		})
	}
}

// TestAgentQueuesAtASilentEtcd: other commands need not wait for its answer.
func TestAgentQueuesAtASilentEtcd(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]history.Kind{"own": "fail", "kept": "unknown"} { // no session, and no answer in it
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			link := linkTo(t, w)
			a := startAgent(t, w, "--session", session, "--timeout", "1s", "--ttl", "60s")
			a.take(t, "lock")
			a.wantKind(t, "unlock", "ok")
			link.Rx.Shut()
			a.wantKind(t, "queue", want)
			a.say(t, "status")
			a.wantNote(t, "holds nothing")
		})
	}
}
