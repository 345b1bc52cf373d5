package lab_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
)

// TestStepsAreOver: no step is over before what it names has happened, nor waits
// for what cannot come.
func TestStepsAreOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		habits string // of client1
		steps  string
		want   []string // in the sketch of the history, in this order
		never  string
	}{
		"a second count": {
			steps: "clients: count k 3, clients: count k 3, client1: read k",
			want:  []string{"ok count k=", "ok count k=", "ok count k=", "ok count k=", "client1 invoke read k=", "final k=12"},
		},
		"a count after a write that was begun": {
			steps: "client1: lock, client1: begin write k=1, client1: finish, client1: unlock, clients: count k 2, client1: read k",
			want:  []string{"final k=5"}, never: "client1 pause",
		},
		"a queue of one": {
			steps: strings.Repeat("client1: queue, client1: lock, client1: unlock, ", 6) + "client1: read k",
			want:  []string{"granted client1", "released client1", "granted client1", "released client1"}, never: "queued",
		},
		"what is not sent, as the lock is lost": {
			habits: "look: session",
			steps:  "client1: lock, gcsim: revoke client1, client1: await loss, client1: send write k=1, client1: read k",
			want:   []string{"client1 invoke write k=1", "client1 fail write lost k=1", "client1 ok read"},
		},
		"an unlock that is sent again": {
			habits: "session: kept, ttl: 10s, timeout: 1s",
			steps: "client1: lock, gcsim: deafen client1 to etcd, client1: unlock, gcsim: heal client1, client1: lock, client1: send retry, " +
				"etcd: await expiry of client1",
			want: []string{"client1 unknown unlock", "client1 invoke unlock", "etcd ended released client1"},
		},
		"an unlock that cannot arrive": {
			habits: "timeout: 300ms",
			steps:  "client1: lock, gcsim: partition client1 from etcd, client1: unlock, etcd: await expiry of client1, gcsim: heal client1",
			want:   []string{"client1 unknown unlock", "etcd ended expired client1"},
		},
		"the expiry of one that was granted the lock while it stood still": {
			steps: "client2: lock, client1: queue, gcsim: pause client1, client2: unlock, etcd: await expiry of client1, client2: lock, " +
				"client2: write k=2, gcsim: resume client1, client1: lock",
			want: []string{"etcd queued client1", "client1 pause", "etcd granted client1", "etcd ended expired client1", "etcd granted client2", "client1 resume", "client1 fail lock expired"},
		},
		"the expiry of a place in the queue": {
			steps: "client2: lock, client1: queue, gcsim: pause client1, etcd: await expiry of client1, client2: unlock, gcsim: resume client1, client1: lock",
			want:  []string{"etcd queued client1", "client1 pause", "client2 ok unlock", "client1 resume", "client1 fail lock expired"}, never: "granted client1",
		},
		"the end of a place in the queue": {
			steps: "client2: lock, client1: queue, gcsim: revoke client1, client2: unlock, client1: lock, client1: trylock",
			want:  []string{"client1 fail lock expired", "client1 ok trylock"}, never: "revoked",
		},
		"a lock that was queued for, unlocked and taken again": {
			steps: "client1: queue, client1: unlock, client1: lock, client1: read k",
			want:  []string{"granted client1", "released client1", "granted client1", "client1 invoke read"},
		},
		"a lock that is not granted in time": {
			habits: "timeout: 1s",
			steps:  "client2: lock, client1: lock, client2: unlock, client1: trylock, client1: write k=1",
			want:   []string{"client1 invoke lock", "client1 fail lock", "client2 ok unlock", "client1 ok trylock", "applied write k=1"},
		},
		"a lock within a time": {
			habits: "timeout: 60s",
			steps: "client2: lock, client1: lock within 300ms, client1: queue, client1: lock within 300ms, client2: unlock, client1: lock within 20s, " +
				"client1: write k=1",
			want: []string{"client1 invoke lock", "client1 fail lock", "etcd queued client1", "client1 fail lock", "client2 ok unlock", "client1 ok lock", "applied write k=1"},
		},
		"a lock within a time that is longer than its timeout": {
			habits: "timeout: 500ms",
			steps:  "client2: lock, gcsim: kill client2, client1: lock within 20s, client1: write k=1",
			want:   []string{"client2 kill", "etcd ended expired client2", "client1 ok lock", "client1 invoke write k=1"},
		},
		"a lock that is not granted in time, in a session that is kept": {
			habits: "timeout: 1s, session: kept",
			steps:  "client2: lock, client1: lock, client2: unlock, client1: trylock, client1: write k=1",
			want:   []string{"client1 invoke lock", "client1 fail lock", "client2 ok unlock", "client1 ok trylock", "applied write k=1"},
		},
		"a lock that was queued for, and is not granted in time": {
			habits: "timeout: 1s",
			steps:  "client2: lock, client1: queue, client1: lock, client2: unlock, client1: trylock, client1: write k=1",
			want:   []string{"etcd queued client1", "client1 fail lock", "client2 ok unlock", "client1 ok trylock", "applied write k=1"},
		},
		"one that leaves the queue": {
			steps: "client2: lock, client1: queue, client1: leave, client2: unlock, client2: lock, client1: queue, client2: unlock, client1: lock",
			want: []string{"etcd queued client1", "client1 note", "client1 fail lock", "client2 ok unlock", "client2 ok lock", "etcd queued client1",
				"ended released client2", "client1 ok lock"},
		},
		"one that leaves the queue when the lock is its own": {
			steps: "client1: queue, client1: leave, client1: write k=1, client1: unlock, client2: lock",
			want:  []string{"client1 ok lock", "client1 ok write k=1", "client1 ok unlock", "client2 ok lock"},
		},
		"a lock of one that is cut off": {
			habits: "timeout: 300ms",
			steps:  "gcsim: partition client1 from etcd, client1: lock, gcsim: heal client1, client2: lock",
			want:   []string{"network partition", "client1 invoke lock", "client1 fail lock", "network heal", "client2 ok lock"},
		},
		"a lock of one that hears nothing": {
			habits: "timeout: 300ms",
			steps:  "client2: lock, gcsim: deafen client1 to etcd, client1: lock, gcsim: heal client1, client2: unlock, client2: lock",
			want:   []string{"network deafen", "client1 invoke lock", "client1 fail lock", "network heal", "client2 ok lock"},
		},
		"what is delivered, and its answer": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, gcsim: deliver client1, gcsim: kill client1",
			want:  []string{"network deliver", "applied write k=1", "client1 ok write k=1", "client1 kill"},
		},
		"one that is killed, and started again": {
			steps: "client1: lock, client1: send write k=1, gcsim: kill client1, gcsim: restart client1, client1: read k, " +
				"etcd: await expiry of client1, client1: lock, client1: write k=2, client1: unlock",
			want: []string{"client1 invoke write k=1", "client1 kill", "client1 restart", "client1 ok read k=1", "etcd ended expired client1",
				"etcd granted client1", "client1 ok write k=2", "etcd ended released client1"},
		},
		"one that is killed in the queue, and started again": {
			steps: "client2: lock, client1: queue, gcsim: kill client1, gcsim: restart client1, client2: unlock, client1: lock, client1: write k=1",
			want:  []string{"etcd queued client1", "client1 kill", "client1 restart", "client1 ok lock", "client1 ok write k=1"},
		},
		"what is delivered of one that was killed, and started again": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, gcsim: kill client1, gcsim: restart client1, " +
				"client1: send write k=2, gcsim: deliver client1, client2: read k",
			want: []string{"client1 kill", "client1 restart", "client1 invoke write k=2", "network deliver", "client2 invoke read"},
		},
		"several deliveries": {
			habits: "scope: key",
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, client1: send write k=2, client1: send delete k, " +
				"client1: send write k=3, client1: send write k=4, gcsim: deliver client1",
			want: []string{"network deliver", "applied write k=1", "applied write k=2", "applied delete k", "applied write k=3", "applied write k=4", "ok write k=4", "final k=4"},
		},
		"what is delivered of one that hears nothing": {
			steps: "client1: lock, gcsim: delay client1 to storage, gcsim: deafen client1 to storage, client1: send write k=1, gcsim: deliver client1, client1: read k",
			want:  []string{"network deliver", "applied write k=1", "client1 ok read k=1", "final k=1"},
		},
		"what is delivered of one that is gone": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, gcsim: kill client1, gcsim: deliver client1, client2: read k",
			want:  []string{"client1 kill", "network deliver", "applied write k=1", "client2 ok read k=1"},
		},
		"what is delivered of one that stands still, and was told more": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, client1: begin write k=2, gcsim: pause client1, " +
				"client1: send finish, gcsim: deliver client1, client2: read k, gcsim: resume client1",
			want: []string{"applied write k=1", "client2 ok read k=1", "client1 resume", "applied write k=2", "client1 ok write k=2"},
		},
		"what waits while the storage is started again": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, client1: send write k=2, gcsim: kill storage, " +
				"gcsim: restart storage, gcsim: deliver client1",
			want: []string{"storage kill", "storage restart", "network deliver", "applied write k=1", "applied write k=2", "final k=2"},
		},
		"what is sent to a storage that is dead": {
			steps: "client1: lock, gcsim: kill storage, client1: send write k=1, client1: write k=2, gcsim: restart storage, client1: write k=3",
			want:  []string{"storage kill", "client1 unknown write k=1", "applied write k=3"},
		},
		"what nobody was told of before the end": {
			steps: "client1: lock, client1: send write k=1",
			want:  []string{"client1 ok write k=1", "storage final k=1"},
		},
		"a retry of what was done": {
			habits: "numbered: true",
			steps: "client1: lock, gcsim: deafen client1 to storage, client1: send write k=1, gcsim: reset client1, client1: retry, " +
				"client1: delete k, client1: read k",
			want: []string{"applied write k=1", "client1 unknown write k=1", "client1 invoke write k=1", "storage duplicate write k=1", "client1 ok write k=1"},
		},
		"a retry of a change that was done": {
			habits: "numbered: true",
			steps: "client1: lock, gcsim: deafen client1 to storage, client1: send change a=1 b=2, gcsim: reset client1, client1: send retry, " +
				"client1: read a",
			want: []string{"applied write b=2", "client1 unknown change", "storage duplicate write a=1", "storage duplicate write b=2", "invoke read a"},
		},
		"several writes": {
			habits: "change: singly",
			steps:  "client1: lock, client1: change a=1 b=2 c=3, client2: read z",
			want:   []string{"applied write c=3", "client2 invoke read"},
		},
		"several writes that are sent": {
			habits: "change: singly",
			steps:  "client1: lock, client1: send change a=1 b=2 c=3, client1: read z, gcsim: kill client1",
			want:   []string{"applied write c=3", "client1 invoke read", "client1 ok read", "client1 kill"},
		},
		"what waits in the network when that breaks": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: send write a=1, gcsim: reset client1, gcsim: deliver client1",
			want:  []string{"client1 invoke write", "client1 network reset", "client1 network deliver", "final a="},
		},
		"a delay of one that sends nothing": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: write a=1, gcsim: reset client1",
			want:  []string{"client1 network delay", "applied write a=1", "client1 network reset", "final a="},
		},
		"what it is told while it stands still": {
			steps: "client1: lock, client1: begin write a=1, gcsim: pause client1, client1: send finish, gcsim: resume client1, client2: read z",
			want:  []string{"client1 resume", "applied write a=1", "client1 ok write a=1", "client2 invoke read"},
		},
		"an unlock that was begun, and comes too late": {
			steps: "client1: lock, client1: begin unlock, gcsim: pause client1, etcd: await expiry of client1, client2: lock, client2: write k=2, " +
				"gcsim: resume client1, client1: finish, client2: write k=3",
			want: []string{"client1 note unlock", "etcd ended expired client1", "etcd granted client2", "client1 resume", "client1 invoke unlock",
				"applied write k=3"},
			never: "revoked",
		},
		"an unlock that was begun and is sent": {
			steps: "client1: lock, client1: begin unlock, client1: send finish, etcd: await expiry of client1, client1: lock, client1: write k=1",
			want:  []string{"client1 note unlock", "client1 invoke unlock", "etcd ended released client1", "etcd granted client1", "client1 ok write k=1"},
		},
		"a read that was begun": {
			steps: "client1: lock, client1: begin read k, client2: write k=2, client1: finish",
			want:  []string{"client1 note read k=", "client2 fail write", "client1 invoke read k=", "client1 ok read k="},
		},
		"a delete that was begun": {
			steps: "client1: lock, client1: write k=1, client1: begin delete k, gcsim: revoke client1, client2: lock, client2: read k, client1: finish, client2: read k",
			want:  []string{"client1 note delete k=", "client2 ok read k=1", "client1 invoke delete k=", "client1 fail delete stale", "client2 ok read k=1"},
		},
		"what it began and sends into a slow network": {
			steps: "client1: lock, gcsim: delay client1 to storage, client1: begin write a=1, client1: send finish, client1: write a=2, gcsim: deliver client1",
			want:  []string{"client1 invoke write a=1", "applied write a=2", "client1 network deliver", "applied write a=1", "final a=1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := played(t, fmt.Sprintf(`title: t
clients:
  client1: {lock: /lock, %s}
  client2: {lock: /lock}
steps: [{%s}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`, tt.habits, strings.ReplaceAll(tt.steps, ", ", "}, {")))
			rest, told := sketch(events), true
			for _, want := range tt.want {
				if _, rest, told = strings.Cut(rest, want); !told {
					t.Fatalf("no %q, in this order, in\n%s", want, sketch(events))
				}
			}
			if tt.never != "" && strings.Contains(sketch(events), tt.never) {
				t.Errorf("%q in\n%s", tt.never, sketch(events))
			}
			if problems := history.Check(events); len(problems) > 0 {
				t.Errorf("what cannot be judged: %v", problems)
			}
		})
	}
}

// TestTerminate: who is asked to end releases what it holds, does not wait for what is under way,
// and is gone.
func TestTerminate(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client1: lock, gcsim: delay client1 to storage, client1: send write k=1, gcsim: terminate client1, "+
		"client2: trylock, gcsim: deliver client1, gcsim: restart client1, client1: trylock")
	events, err := run(t, t.Context(), s, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	rest, told := sketch(events), true
	for _, want := range []string{"client1 invoke write k=1", "ended released client1", "client1 kill",
		"granted client2", "client1 network deliver", "applied write k=1", "client1 restart", "client1 fail trylock"} {
		if _, rest, told = strings.Cut(rest, want); !told {
			t.Fatalf("no %q, in this order, in\n%s", want, sketch(events))
		}
	}
	if problems := history.Check(events); len(problems) > 0 {
		t.Errorf("what cannot be judged: %v", problems)
	}
}

// TestQueueAfterTryLock: one that tries a lock stands in the queue for a moment.
// That is no place of the one that queues after it.
func TestQueueAfterTryLock(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client1: lock, "+strings.Repeat("client2: trylock, ", 6)+"client2: queue, client1: unlock, client2: lock")
	events, err := run(t, t.Context(), s, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	queued, granted := "none", "none"
	for _, e := range events {
		switch {
		case e.Kind == history.KindQueued:
			queued = e.Tenure
		case e.Kind == history.KindGranted && e.Client == "client2":
			granted = e.Tenure
		}
	}
	if queued != granted {
		t.Errorf("client2 queued as %s, and was granted %s", queued, granted)
	}
}

// TestRestoredLocks: what etcd held when the snapshot was taken it holds again, or
// still; what came later has never been.
func TestRestoredLocks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ steps, want, never string }{
		"a lock that is held goes on": {
			"client1: lock, gcsim: save etcd, gcsim: restore etcd, client2: queue, client1: unlock, client2: lock",
			`client1 ok lock
etcd note
etcd note
client2 invoke lock
etcd queued client2
client1 invoke unlock
etcd ended released client1
etcd granted client2
`, "",
		},
		"a lock that was taken later is gone": {
			"gcsim: save etcd, client1: lock, gcsim: restore etcd, client2: lock, etcd: await expiry of client1",
			"etcd ended revoked client1\netcd note\n", "",
		},
		"a lock that was released later is held again": {
			"client1: lock, gcsim: save etcd, client1: unlock, gcsim: restore etcd, client2: queue, client2: lock",
			"etcd queued client2\netcd granted client2\n", "expired",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, v := story(t, tt.steps)
			v.Clients["client1"].Values["ttl"] = "5s" // so that a lease that is back outlasts a slow start of etcd
			events, err := run(t, t.Context(), s, v, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(sketch(events), " \n", "\n")
			for _, answer := range []string{"client1 ok unlock\n", "client2 ok lock\n", "client1 lost\n"} {
				got = strings.ReplaceAll(got, answer, "")
			}
			if !strings.Contains(got, tt.want) || tt.never != "" && strings.Contains(got, tt.never) {
				t.Errorf("got\n%s\nwant\n%s", sketch(events), tt.want)
			}
			if n := strings.Count(got, "granted client1"); n != 1 {
				t.Errorf("client1 was granted the lock %d times, want once, in\n%s", n, got)
			}
		})
	}
}

// TestForeignEtcdIsLeftAsItWas: a run in an etcd that was there before leaves no
// lock in it, held or queued for, where nobody could wait for the leases to run out.
func TestForeignEtcdIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	client := kvtest.Etcd(t)
	s := parse(t, `title: t
clients:
  client1: {lock: /lock, ttl: 60s}
  client2: {lock: /lock, ttl: 60s}
steps: [{client1: lock}, {client2: queue}, {gcsim: pause client1}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`)
	if _, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: all.List, Exe: os.Args[0], Endpoints: client.Endpoints()}); err != nil {
		t.Fatal(err)
	}
	leases, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := client.Get(t.Context(), "\x00", clientv3.WithFromKey())
	if err != nil {
		t.Fatal(err)
	}
	if len(leases.Leases) > 0 || len(keys.Kvs) > 0 {
		t.Errorf("%d leases and %d keys are left: %v", len(leases.Leases), len(keys.Kvs), keys.Kvs)
	}
}
