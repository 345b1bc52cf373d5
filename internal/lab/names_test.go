package lab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/judge"
)

// TestNamesOfSteps: a name is that of what its step asked for, also where the step asks for
// nothing anew, or for much, and whatever the client asks for next.
func TestNamesOfSteps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ head, steps, outcomes string }{
		"a lock after queue, granted while it waits": {head: twoOfEtcd, steps: `
  - client1: lock
  - client2: queue
  - client1: unlock
  - client2: lock
    name: second
  - client2: read k
`, outcomes: "second: ok"},
		"a lock after queue, which is not granted": {head: twoOfEtcd, steps: `
  - client1: lock
  - client2: queue
    name: queue
  - client2: lock within 100ms
    name: second
  - client2: write k=1
    name: third
`, outcomes: "queue: failed, second: failed, third: failed"},
		"a queue for nothing": {head: twoOfEtcd, steps: `
  - client1: queue
  - client1: lock
    name: first
  - client1: read k
`, outcomes: "first: ok"},
		"two queues": {head: twoOfEtcd, steps: `
  - client1: lock
  - client1: lock /b
  - client2: queue
    name: a
  - client2: queue /b
    name: b
  - client1: unlock /a
  - client2: lock
    name: granted
  - client2: lock /b within 100ms
    name: refused
  - client2: read k under /a
`, outcomes: "a: ok, b: failed, granted: ok, refused: failed"},
		"what was begun": {head: twoOfEtcd, steps: `
  - client1: lock
  - client1: begin write k=1
    name: begun
  - client1: finish
  - client1: begin write k=2
    name: unnamed
  - client1: finish
    name: finished
  - client1: read k
`, outcomes: "begun: ok, finished: ok"},
		"nothing was begun": {head: twoOfEtcd, steps: `
  - client1: lock
  - gcsim: revoke client1
  - client1: await loss
  - client1: begin write k=1
    name: begun
  - client1: finish
  - client1: read k
`, outcomes: "begun: failed"},
		"sent by one that stands still": {head: twoOfEtcd, steps: `
  - client1: lock
  - client1: begin write k=1
  - gcsim: pause client1
  - client1: send finish
    name: sent
  - gcsim: resume client1
  - client1: read other
    name: other
`, outcomes: "sent: ok, other: found nothing"},
		"a change made singly": {head: `
clients:
  client1: {lock: /a, ttl: 5s, change: singly}
`, steps: `
  - client1: lock
  - client1: change k=1 l=2
    name: change
  - client1: read l
    name: read
`, outcomes: "change: ok, read: found 2"},
		"an unlock of a lock that was taken twice": {head: `
world: {redis: {}, storage: {fencing: off}}
clients:
  client1: {lock: /a, by: redisson-reentrant, ttl: 5s}
`, steps: `
  - client1: lock
  - client1: lock
    name: again
  - client1: unlock
    name: inner
  - client1: write k=1
  - client1: unlock
    name: outer
`, outcomes: "again: ok, inner: ok, outer: ok"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := judge.Judge(played(t, "title: t\n"+tt.head+"steps:"+tt.steps+"variants:\n  only: {expect: {verdict: safe, steps: {"+tt.outcomes+"}}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string(nil), j.Mismatches); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const twoOfEtcd = `
clients:
  client1: {lock: /a, ttl: 5s}
  client2: {lock: /a, ttl: 5s, look: session}
`
