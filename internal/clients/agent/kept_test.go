package agent_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
)

// TestAgentRetriesAnUnlock: the answer to an unlock is lost, the lock is taken
// again, and then the unlock is done once more. In a kept session it frees the
// newer lock, which has the same key.
func TestAgentRetriesAnUnlock(t *testing.T) {
	t.Parallel()
	for session, frees := range map[string]bool{"own": false, "kept": true} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			link := linkTo(t, w)
			a := startAgent(t, w, "--session", session, "--ttl", "60s", "--timeout", "1s")
			first := a.take(t, "lock")
			link.Rx.Shut()
			a.wantKind(t, "unlock", "unknown")
			w.Queue(t, "/lock", 0)
			link.Rx.Open()
			second := a.take(t, "lock")
			keyOf := func(e history.Event) string { key, _, _ := strings.Cut(e.Tenure, "@"); return key }
			if first.Tenure == second.Tenure || frees != (keyOf(first) == keyOf(second)) {
				t.Errorf("tenures %s, then %s", first.Tenure, second.Tenure)
			}
			want := history.KindFail
			if frees {
				want = history.KindOK
			}
			if e := a.wantKind(t, "retry", want); e.Op != "unlock" || e.Tenure != first.Tenure {
				t.Errorf("%+v, want the unlock of %s", e, first.Tenure)
			}
			if frees {
				w.WantFree(t, "/lock")
			} else {
				w.Queue(t, "/lock", 1)
			}
			a.wantError(t, "retry", "no request of unknown outcome")
			a.say(t, "status")
			a.wantNote(t, "holds /lock") // nobody tells it
		})
	}
}

// TestAgentsShareASession: two mutexes on one lease both get the lock, and have
// one tenure.
func TestAgentsShareASession(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	a, b := startAgent(t, w, "--session", "kept"), startAgent(t, w, "--session", "kept")
	one := a.take(t, "lock")
	two := b.does(t, "lock in "+one.Tenure)
	if two.Kind != "ok" || two.Tenure != one.Tenure || two.Token != one.Token {
		t.Errorf("grants %+v and %+v, want one tenure for both", one, two)
	}
	// The one's unlock frees the other's lock.
	b.wantKind(t, "unlock", "ok")
	w.WantFree(t, "/lock")
	a.say(t, "status")
	a.wantNote(t, "holds /lock")
	b.stdin.Close()
	b.wantEnd(t)
	a.wantKind(t, "unlock", "ok")
	a.take(t, "lock") // the lease is not b's to end
	for _, tenure := range []string{"/lock/7@5", "7", "/lock/0x1@5", "/lock/-1@5", "/lock/@5"} {
		if e := startAgent(t, w).does(t, "lock in "+tenure); e.Kind != "fail" {
			t.Errorf("the lease of %s, which is not there: %+v", tenure, e)
		}
	}
}

func TestAgentKeepsASession(t *testing.T) {
	w, a := startAlone(t, "--session", "kept")
	first := a.take(t, "lock")
	a.wantKind(t, "unlock", "ok")
	second := a.take(t, "trylock")
	if clienttest.LeaseOf(t, first.Tenure) != clienttest.LeaseOf(t, second.Tenure) || first.Tenure == second.Tenure {
		t.Errorf("tenures %s, then %s, want one lease", first.Tenure, second.Tenure)
	}
	w.Revoke(t, second.Tenure)
	if e := a.next(t); e.Kind != history.KindLost || e.Tenure != second.Tenure {
		t.Fatalf("%+v, want the loss of the second alone", e)
	}
	third := a.take(t, "lock") // in a new session
	if clienttest.LeaseOf(t, third.Tenure) == clienttest.LeaseOf(t, second.Tenure) {
		t.Errorf("%s is of the lease that has ended", third.Tenure)
	}
	a.wantKind(t, "unlock", "ok")
	other := w.Take(t, "/lock")
	a.wantKind(t, "trylock", "fail")
	w.Queue(t, "/lock", 1)
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	a.stdin.Close()
	a.wantEnd(t)
	leases, err := w.Etcd.Leases(clienttest.Within(t))
	if err != nil || len(leases.Leases) != 1 || leases.Leases[0].ID != clienttest.LeaseOf(t, other.Grant().Owner) {
		t.Errorf("left: %v, %v, want the other's alone", leases, err)
	}
}
