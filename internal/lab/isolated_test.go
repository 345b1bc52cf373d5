package lab_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestIsolatedMember: the others go on, and so does the account, through one of them.
func TestIsolatedMember(t *testing.T) {
	need.Time(t, "to isolate members of two clusters")
	t.Parallel()
	for name, tt := range map[string]struct {
		story string
		want  []string
		no    []string
	}{
		"the leader": {leaderIsIsolated,
			[]string{"etcd ended expired client1", "etcd granted client2", "storage applied write k=2", "storage refused write stale k=1", "client1 ok lock", "storage applied write k=3"},
			[]string{"etcd granted client3"}},
		"each by its name": {eachIsIsolated, []string{"etcd ended revoked client1", "etcd ended revoked client2", "etcd ended revoked client3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := sketch(played(t, tt.story))
			wantAll(t, got, tt.want...)
			for _, no := range tt.no {
				if strings.Contains(got, no) {
					t.Errorf("%q in\n%s", no, got)
				}
			}
		})
	}
}

// client1 and client3 know only the member that led.
const leaderIsIsolated = `title: t
world:
  etcd: {members: 3}
clients:
  client1: {lock: /lock, ttl: 2s, member: leader}
  client2: {lock: /lock, ttl: 10s, member: follower}
  client3: {lock: /other, member: leader}
steps:
  - client1: lock
  - gcsim: isolate leader
  - client3: lock within 1s
  - etcd: await expiry of client1
  - client2: lock
  - client2: write k=2
  - client1: write k=1
  - client2: unlock
  - gcsim: heal leader
  - client1: await loss
  - client1: lock
  - client1: write k=3
  - client1: unlock
variants:
  only: {control: true, expect: {verdict: blocked}}
`

// A lease is revoked, and its end is told, by way of the account.
const eachIsIsolated = `title: t
world:
  etcd: {members: 3}
clients:
  client1: {lock: /lock1, ttl: 30s}
  client2: {lock: /lock2, ttl: 30s}
  client3: {lock: /lock3, ttl: 30s}
steps:
  - client1: lock
  - client2: lock
  - client3: lock
  - gcsim: isolate etcd1
  - gcsim: revoke client1
  - gcsim: heal etcd1
  - gcsim: isolate etcd2
  - gcsim: revoke client2
  - gcsim: heal etcd2
  - gcsim: isolate etcd3
  - gcsim: revoke client3
variants:
  only: {control: true, expect: {verdict: blocked}}
`

// TestLostMemberLeadsNoMore: where a member is lost by its name, whether it led or not,
// the step is over when another one leads.
func TestLostMemberLeadsNoMore(t *testing.T) {
	t.Parallel()
	var lost string
	for _, e := range played(t, eachIsIsolated) {
		if strings.HasPrefix(e.Lane, "client") || e.Kind == history.KindStarved {
			continue // it may learn of its loss meanwhile, and the machine may be busy
		}
		if name, ok := strings.CutSuffix(e.Text, ", a member of etcd, is isolated from the others"); ok {
			lost = name
			continue
		}
		if leader, ok := strings.CutSuffix(e.Text, " leads the others"); lost != "" && (!ok || leader == lost) {
			t.Errorf("after %s was isolated: %q, want another one that leads", lost, e.Text)
		}
		lost = ""
	}
}
