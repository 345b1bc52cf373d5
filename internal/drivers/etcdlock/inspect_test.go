package etcdlock_test

import (
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/pkg/lock"
)

// TestInspectTellsOfMutexes of package concurrency, which hold the lock and wait for it beside
// the package's own. How long a lease lasts is told of holders.
func TestInspectTellsOfMutexes(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	session, err := concurrency.NewSession(a.client, concurrency.WithTTL(60))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, scope)
	if err := mutex.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting := inBackground(lock.WithWords(t.Context(), "web7"), a.Lock)
	a.queue(t, 2)
	state, err := a.Inspect(t.Context(), scope)
	if err != nil || len(state.Holders) != 1 || len(state.Waiters) != 1 {
		t.Fatalf("Inspect tells of %+v, %v; want a holder and a waiter", state, err)
	}
	if h := state.Holders[0]; h.Owner != mutex.Key() || h.Words != "" || h.Left <= 0 || h.Left > long {
		t.Errorf("the holder is told as %+v, and is the mutex of %s", h, mutex.Key())
	}
	if w := state.Waiters[0]; w.Words != "web7" || w.Left != 0 {
		t.Errorf("the waiter is told as %+v", w)
	}
	if err := mutex.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-waiting; r.err != nil || r.tenure.Grant() != state.Waiters[0].Grant {
		t.Errorf("granted %+v, %v; %+v was told", r.tenure, r.err, state.Waiters[0])
	} else if err := r.tenure.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
