package lab_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
)

// underLocks is a history in short, with the lock of each event.
func underLocks(events []history.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, strings.Join(strings.Fields(strings.Join([]string{e.Lane, string(e.Kind), e.Op, e.Scope, e.Key, e.Value, e.Cause, e.Reason}, " ")), " "))
	}
	return b.String()
}

// wantInOrder wants lines to begin so, in this order.
func wantInOrder(t *testing.T, got string, wants []string) {
	t.Helper()
	rest := "\n" + got
	for _, want := range wants {
		_, after, told := strings.Cut(rest, "\n"+want)
		if !told {
			t.Fatalf("no %q, in this order, in\n%s", want, got)
		}
		rest = after
	}
}

// TestSeveralLocks: each step is about the lock that it names, else about the client's
// last.
func TestSeveralLocks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		habits, steps string
		want          []string
		never         string
	}{
		"the last lock, and those before it": {
			steps: "client1: lock, client1: lock /b, client1: write k=1, client1: write k=2 under /a, client1: unlock, client1: write k=3, " +
				"client1: read k under /b, client1: unlock /a",
			want: []string{"client1 ok lock /a", "client1 ok lock /b", "client1 ok write /b k 1", "client1 ok write /a k 2", "etcd ended /b released",
				"client1 ok write /a k 3", "client1 ok read /b k 3", "etcd ended /a released"},
		},
		"two locks on one lease": {
			steps: "client1: lock, client1: lock /b, gcsim: pause client1, etcd: await expiry of client1 under /a, etcd: await expiry of client1 under /b, " +
				"client2: lock, client2: lock /b, gcsim: resume client1, client1: await loss of /a, client1: await loss of /b",
			want: []string{"client1 pause", "client2 ok lock /a", "client2 ok lock /b", "client1 resume", "client1 lost"},
		},
		"two locks on one lease that is revoked": {
			habits: "ttl: 5s",
			steps:  "client1: lock, client1: lock /b, gcsim: revoke client1 under /a, client1: await loss of /a, client1: await loss of /b, client1: read k",
			want:   []string{"client1 lost", "client1 lost", "client1 ok read"}, never: "expired",
		},
		"the second of two leases": {
			habits: "ttl: 5s",
			steps: "client1: lock, client1: queue /b, client1: lock /b, gcsim: revoke client1, client1: await loss, client1: write k=1, client1: unlock, " +
				"client1: write k=2, client1: unlock",
			want: []string{"etcd ended /b revoked", "client1 lost /b", "client1 ok write /b k 1", "client1 invoke unlock /b", "client1 ok write /a k 2", "etcd ended /a released"},
		},
		"the first of two leases": {
			habits: "ttl: 5s",
			steps: "client1: lock, client1: queue /b, client1: lock /b, gcsim: revoke client1 under /a, client1: await loss of /a, client1: write k=1, " +
				"client2: lock, client2: write k=2, client1: write k=3 under /a",
			want: []string{"etcd ended /a revoked", "client1 lost /a", "client1 ok write /b k 1", "client2 ok write /a k 2", "client1 fail write /a k 3 stale"},
		},
		"a lock that was unlocked is not the last": {
			steps: "client1: lock, client1: lock /b, client1: unlock /b, gcsim: pause client1, etcd: await expiry of client1, client2: trylock",
			want:  []string{"etcd ended /b released", "client1 pause", "etcd ended /a expired", "client2 ok trylock /a"},
		},
		"two locks that would wait for each other": {
			steps: "client1: lock, client2: lock /b, client1: queue /b, client2: lock /a within 300ms, client2: unlock /b, client1: lock /b, client1: write k=1",
			want:  []string{"etcd queued /b", "client2 fail lock /a", "etcd ended /b released", "client1 ok lock /b", "client1 ok write /b k 1"},
		},
		"two queues": {
			habits: "ttl: 5s",
			steps: "client2: lock, client2: lock /b, client1: queue, client1: queue /b, client2: unlock, client1: lock /b within 20s, client2: unlock, " +
				"client1: lock, client1: write k=1, client1: write k=2 under /a, gcsim: revoke client1",
			want: []string{"etcd queued /a", "etcd queued /b", "client1 ok lock /b", "client1 ok lock /a", "client1 ok write /b k 1", "client1 ok write /a k 2",
				"etcd ended /b revoked"},
		},
		"a place that is lost is not the last": {
			habits: "ttl: 3s",
			steps: "client2: lock /b, client1: lock, client1: queue /b, gcsim: revoke client1, client2: unlock, client1: lock /b, client1: write k=1, " +
				"gcsim: pause client1, etcd: await expiry of client1, client2: lock",
			want: []string{"client1 fail lock /b expired", "client1 ok write /a k 1", "etcd ended /a expired", "client2 ok lock /a"},
		},
		"what is begun, sent and tried again": {
			habits: "timeout: 1s",
			steps: "client1: lock, client1: lock /b, client1: begin write k=1 under /a, client1: send finish, client1: send change k=2 l=2 under /a, " +
				"client1: begin unlock /a, gcsim: deafen client1 to etcd, client1: finish, gcsim: heal client1, client1: retry, client1: write k=3",
			want: []string{"client1 note write /a k", "client1 invoke write /a k 1", "client1 invoke change /a", "client1 note unlock /a", "client1 unknown unlock /a",
				"client1 invoke unlock /a", "client1 ok write /b k 3"},
		},
		"one that is killed": {
			steps: "client1: lock, client1: queue /b, client1: lock /b, gcsim: kill client1, gcsim: restart client1, client1: lock, " +
				"etcd: await expiry of client1 under /b, client1: write k=1",
			want: []string{"client1 kill", "etcd ended /a expired", "client1 ok lock /a", "client1 ok write /a k 1"},
		},
		"a session that is shared": {
			habits: "session: client2",
			steps:  "client2: lock, client1: lock /b, client2: lock /c, client1: write k=1, client1: unlock, client1: trylock /d",
			want:   []string{"client2 ok lock /a", "client1 ok lock /b", "client2 ok lock /c", "etcd ended /b released", "client1 ok trylock /d"},
		},
		"a count while another lock is held": {
			steps: "client1: lock /b, clients: count k 2, client1: write l=1",
			want:  []string{"client1 ok lock /b", "storage applied write /a k", "client1 ok write /b l 1", "storage final k 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := played(t, severalLocks(tt.habits, tt.steps))
			got := underLocks(events)
			wantInOrder(t, got, tt.want)
			if tt.never != "" && strings.Contains(got, tt.never) {
				t.Errorf("%q in\n%s", tt.never, got)
			}
			if problems := history.Check(events); len(problems) > 0 {
				t.Errorf("what cannot be judged: %v", problems)
			}
		})
	}
}

func severalLocks(habits, steps string) string {
	return fmt.Sprintf(`title: t
clients:
  client1: {lock: /a, %s}
  client2: {lock: /a}
steps: [{%s}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`, habits, strings.ReplaceAll(steps, ", ", "}, {"))
}

// TestSeveralLocksBelowAPrefix: names are those of the run's own, in all that a client
// is told, and nothing is left.
func TestSeveralLocksBelowAPrefix(t *testing.T) {
	t.Parallel()
	client := kvtest.Etcd(t)
	s := parse(t, severalLocks("ttl: 60s", "client1: lock, client1: trylock /lock, client1: lock /b within 20s, client1: queue /c, client1: lock /c within 20s, "+
		"client2: queue /b, client1: write k=1 under /lock, client1: begin unlock /lock, client1: finish, client1: unlock /a"))
	events, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: all.List, Exe: os.Args[0], Endpoints: client.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	prefix, _, _ := strings.Cut(strings.TrimPrefix(underLocks(events[1:]), "client1 invoke lock "), "/a\n")
	wantInOrder(t, strings.ReplaceAll(underLocks(events), prefix, ""), []string{
		"client1 ok lock /a", "client1 ok trylock /lock", "client1 ok lock /b", "client1 ok lock /c", "etcd queued /b", "client1 ok write /lock k 1",
		"etcd ended /lock released", "etcd ended /a released",
	})
	keys, err := client.Leases(t.Context())
	if err != nil || len(keys.Leases) > 0 {
		t.Errorf("leases are left: %v, %v", keys, err)
	}
}

// TestOneOfTwoLocksIsLost: both judges tell what was done under the lock that was lost
// from what was done under the one that was not.
func TestOneOfTwoLocksIsLost(t *testing.T) {
	t.Parallel()
	s := parse(t, `title: t
clients:
  client1: {lock: /a, ttl: 60s}
  client2: {lock: /a, ttl: 60s}
steps:
- client1: lock
- client1: queue /b # on a lease of its own
- client1: lock /b
- client1: write a=1 under /a
- client1: write b=1 under /b
- client1: begin write b=3 under /b
- gcsim: revoke client1 under /b
- client2: lock /b
- client2: write b=2
- client1: finish
- client1: write a=3 under /a
- client2: read b
variants:
  fenced:
    expect: {verdict: safe, stale: 1, refused: 1, ordered: true, exclusive: true, fenced: true, final: {a: 3, b: 2}}
  unfenced:
    control: true
    set: {storage.fencing: off}
    expect: {verdict: corrupted, stale: 0, ordered: true, exclusive: true, fenced: false, final: {a: 3, b: 3}}
`)
	for _, v := range s.Variants {
		t.Run(v.Name, func(t *testing.T) {
			events, err := run(t, t.Context(), s, &v, nil)
			if err != nil {
				t.Fatal(err)
			}
			j, err := judge.Judge(events)
			if err != nil {
				t.Fatal(err)
			}
			if !j.OK() {
				t.Errorf("%s: %q in\n%s", j.Name, j.Mismatches, underLocks(events))
			}
			var kinds []string
			for _, violation := range j.Violations {
				kinds = append(kinds, fmt.Sprint(violation.Kind, " ", events[violation.Event].Key))
			}
			if v.Control && strings.Join(kinds, ", ") != "stale b" {
				t.Errorf("violations %q, want that of b alone", kinds)
			}
		})
	}
}
