package clientcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/network"
)

// link leads clients to etcd on a way on which the answers can be held up.
func (w *world) link(t *testing.T) *network.Link {
	t.Helper()
	l, err := network.New(strings.TrimPrefix(w.server.Endpoint(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	w.way = l.Addr()
	return l
}

// TestAgentRetriesAnUnlock: the answer to an unlock is lost, the lock is taken
// again, and then the unlock is done once more. In a kept session it frees the
// newer lock, which has the same key.
func TestAgentRetriesAnUnlock(t *testing.T) {
	t.Parallel()
	for session, frees := range map[string]bool{"own": false, "kept": true} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			link := w.link(t)
			a := startAgent(t, w, "--session", session, "--ttl", "60s", "--timeout", "1s")
			first := a.take(t, "lock")
			link.Rx.Shut()
			a.wantKind(t, "unlock", "unknown")
			w.queue(t, "/lock", 0)
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
				w.wantFree(t, "/lock")
			} else {
				w.queue(t, "/lock", 1)
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
	w := newWorld(t)
	a, b := startAgent(t, w, "--session", "kept"), startAgent(t, w, "--session", "kept")
	one := a.take(t, "lock")
	two := b.does(t, fmt.Sprintf("lock in %x", int64(leaseOf(t, one.Tenure))))
	if two.Kind != "ok" || two.Tenure != one.Tenure || two.Token != one.Token {
		t.Errorf("grants %+v and %+v, want one tenure for both", one, two)
	}
	// The one's unlock frees the other's lock.
	b.wantKind(t, "unlock", "ok")
	w.wantFree(t, "/lock")
	a.say(t, "status")
	a.wantNote(t, "holds /lock")
	b.stdin.Close()
	b.wantEnd(t)
	a.wantKind(t, "unlock", "ok")
	a.take(t, "lock") // the lease is not b's to end
	if e := startAgent(t, w).does(t, "lock in 7"); e.Kind != "fail" {
		t.Errorf("a lease that is not there: %+v", e)
	}
}

func TestAgentKeepsASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := startAgent(t, w, "--session", "kept")
	first := a.take(t, "lock")
	a.wantKind(t, "unlock", "ok")
	second := a.take(t, "trylock")
	if leaseOf(t, first.Tenure) != leaseOf(t, second.Tenure) || first.Tenure == second.Tenure {
		t.Errorf("tenures %s, then %s, want one lease", first.Tenure, second.Tenure)
	}
	w.revoke(t, second.Tenure)
	if e := a.next(t); e.Kind != history.KindLost || e.Tenure != second.Tenure {
		t.Fatalf("%+v, want the loss of the second alone", e)
	}
	third := a.take(t, "lock") // in a new session
	if leaseOf(t, third.Tenure) == leaseOf(t, second.Tenure) {
		t.Errorf("%s is of the lease that has ended", third.Tenure)
	}
	a.wantKind(t, "unlock", "ok")
	other := w.take(t, "/lock")
	a.wantKind(t, "trylock", "fail")
	w.queue(t, "/lock", 1)
	if err := other.Unlock(within(t)); err != nil {
		t.Fatal(err)
	}
	a.stdin.Close()
	a.wantEnd(t)
	leases, err := w.etcd.Leases(within(t))
	if err != nil || len(leases.Leases) != 1 || leases.Leases[0].ID != leaseOf(t, other.Grant().Owner) {
		t.Errorf("left: %v, %v, want the other's alone", leases, err)
	}
}
