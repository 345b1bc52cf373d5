package lab_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestStoppedMember: clients that know all members take and release locks while one
// of them stands still, whichever they asked first, and whether they wait for a
// request, for the one before them in the queue, or ask whether the lock is theirs.
func TestStoppedMember(t *testing.T) {
	need.Time(t, "to stop members of three clusters")
	t.Parallel()
	for name, tt := range map[string]struct {
		story string
		want  []string
	}{
		"the leader": {leaderStops, []string{"client2 ok unlock", "client1 ok unlock", "storage applied write k=2", "storage applied write k=1"}},
		// Whether client1 hears of its unlock depends on the member that it asked.
		"the one that the account goes through": {observedStops, []string{"etcd ended released client1", "etcd granted client2"}},
		"members by name":                       {membersComeAndGo, []string{"etcd ended released client1", "etcd granted client2", "storage applied write k=2", "storage applied write k=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantAll(t, sketch(played(t, tt.story)), tt.want...)
		})
	}
}

const membersComeAndGo = `title: t
world:
  etcd: {members: 3}
clients:
  client1: {lock: /lock, ttl: 10s, timeout: 15s}
  client2: {lock: /lock, ttl: 10s, timeout: 15s}
steps:
  - client1: lock
  - gcsim: kill etcd1
  - client1: write k=1
  - gcsim: restart etcd1
  - gcsim: pause etcd2
  - client1: unlock
  - client2: lock
  - gcsim: resume etcd2
  - client2: write k=2
  - client2: unlock
variants:
  only: {control: true, expect: {verdict: blocked}}
`

// The account goes through one of the members. It stands still while too few serve for
// another to be chosen, and still when they are enough again.
const observedStops = `title: t
world:
  etcd: {members: 3}
clients:
  client1: {lock: /lock, ttl: 10s, timeout: 15s}
  client2: {lock: /lock, ttl: 10s, timeout: 15s}
steps:
  - client1: lock
  - gcsim: kill etcd1
  - gcsim: pause etcd2
  - gcsim: restart etcd1
  - client1: unlock
  - client2: lock
  - gcsim: resume etcd2
variants:
  only: {control: true, expect: {verdict: blocked}}
`

const leaderStops = `title: t
world:
  etcd: {members: 3}
clients:
  client1: {lock: /lock, ttl: 10s}
  client2: {lock: /lock, ttl: 10s, session: kept, look: first}
steps:
  - client1: lock
  - client2: queue
  - gcsim: pause leader
  - client1: unlock
  - client2: lock
  - client2: write k=2
  - client2: unlock
  - client1: lock
  - client1: write k=1
  - client1: unlock
variants:
  only: {control: true, expect: {verdict: blocked}}
`
