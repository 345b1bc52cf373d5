package lab_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestDeadHolder: the lock of a killed holder comes in time to who waits, in the order
// of requests; and the history has what it takes to see that.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	events := played(t, `title: t
clients: {client1: {lock: /l}, client2: {lock: /l}, client3: {lock: /l}}
steps:
  - client1: lock
  - client2: queue
  - client3: queue
  - gcsim: kill client1
  - client2: lock
  - client2: unlock
  - client3: lock
variants:
  only: {control: true, expect: {verdict: blocked, fair: true}}
`)
	if v := verdict.Judge(events); v.Name != history.Safe || v.Fair == nil || !*v.Fair {
		t.Errorf("got %+v, want safe and fair", v)
	}
	events[0].Run.Bounds["client1"] = time.Millisecond
	if v := verdict.Judge(events); len(v.Violations) != 1 || v.Violations[0].Kind != history.Orphaned {
		t.Errorf("got %+v, want that a lock which may be held for a millisecond was held too long", v)
	}
}

// TestLeaseOfAWaiterRanOut: a client that stood still while it was granted the lock, and lost
// it, does not say that it was not granted it.
func TestLeaseOfAWaiterRanOut(t *testing.T) {
	t.Parallel()
	events := played(t, `title: t
clients: {client1: {lock: /l, ttl: 5s}, client2: {lock: /l}}
steps:
  - client1: lock
  - client2: queue
  - gcsim: pause client2
  - client1: unlock
  - etcd: await expiry of client2
  - gcsim: resume client2
  - client2: lock
variants:
  only: {control: true, expect: {verdict: blocked}}
`)
	i := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == history.KindFail && e.Op == history.OpLock })
	if i < 0 || events[i].Text != "the lease ran out before the client was told of a grant" {
		t.Errorf("client2 is told nothing of its lease, or more than it can know: %+v", events[max(i, 0)])
	}
}
