package story

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// What the scenarios about etcd's own pitfalls tell.
func TestRowsOfFaults(t *testing.T) {
	at := func(at time.Duration, lane string, kind history.Kind, e history.Event) history.Event {
		e.At, e.Lane, e.Kind = at*ms, lane, kind
		return e
	}
	tenure := func(client, id string, token fence.Token) history.Event {
		return history.Event{Client: client, Scope: "/l", Tenure: id, Token: token}
	}
	lock := history.Event{Op: "lock", Scope: "/l"}
	write := func(client, id, request, value string) history.Event {
		return history.Event{Client: client, Op: "write", Scope: "/l", Tenure: id, Request: request, Key: "k", Value: value}
	}
	abc := []history.Change{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	for name, test := range map[string]struct {
		events []history.Event
		want   []string
	}{
		"a client that queues asks and waits in one row": {
			[]history.Event{at(1, "c", "invoke", lock), at(2, "etcd", "queued", tenure("c", "t", 7)), at(300, "etcd", "granted", tenure("c", "t", 7)), at(301, "c", "ok", lock)},
			[]string{"queue c>lock service c waits in the queue for /l, its ticket is 7", "grant lock service>c c holds /l: token 7 (it waited for 299 ms)"},
		},
		"who shares a lock says so": {
			[]history.Event{
				at(1, "etcd", "granted", history.Event{Client: "a", Scope: "/l", Tenure: "1", Token: 5, Mode: fence.Shared}),
				at(2, "storage", "applied", history.Event{Client: "a", Op: "read", Scope: "/l", Tenure: "1", Request: "a-1", Key: "k", Token: 5, Mode: fence.Shared}),
			},
			[]string{"grant lock service>a a holds /l: shared token 5", "admit a>storage a reads k, shared token 5: applied unchecked"},
		},
		"in two if etcd takes its time": {
			[]history.Event{at(1, "c", "invoke", lock), at(301, "etcd", "queued", tenure("c", "t", 7))},
			[]string{"send c>lock service c asks for /l and waits", "queue c> c waits in the queue for /l, its ticket is 7"},
		},
		"its place may be told late": {
			[]history.Event{at(1, "c", "invoke", lock), at(200, "d", "note", history.Event{Text: "hi"}), at(201, "etcd", "queued", tenure("c", "t", 7))},
			[]string{"send c>lock service c asks for /l and waits", "note d> hi", "queue c> c waits in the queue for /l, its ticket is 7"},
		},
		"a client may leave the queue": {
			[]history.Event{at(1, "etcd", "queued", tenure("c", "t", 7)), at(2, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t", Cause: "revoked"})},
			[]string{"queue c>lock service c waits in the queue for /l, its ticket is 7", "release lock service> c is in the queue for /l no longer: revoked"},
		},
		"who waits writes before its tenure begins": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("a", "1", 5)), at(2, "etcd", "queued", tenure("b", "2", 7)),
				at(3, "storage", "applied", write("a", "1", "a-1", "x")), at(4, "storage", "applied", write("b", "2", "b-1", "y")),
			},
			[]string{
				"grant lock service>a a holds /l: token 5", "queue b>lock service b waits in the queue for /l, its ticket is 7",
				"admit a>storage a writes k=x, no token: applied unchecked",
				"admit b>storage b writes k=y, no token: applied unchecked",
			},
		},
		"two clients work under one tenure": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("a", "1", 5)), at(2, "b", "invoke", lock),
				at(3, "b", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "1", Token: 5}),
				at(4, "storage", "applied", write("a", "1", "a-1", "x")), at(5, "storage", "applied", write("b", "1", "b-1", "y")),
			},
			[]string{
				"grant lock service>a a holds /l: token 5", "grant lock service>b b is told that it holds /l too, by a's tenure: token 5",
				"admit a>storage a writes k=x, no token: applied unchecked",
				"admit b>storage b writes k=y, no token: applied unchecked",
			},
		},
		"a write lands after a later one of its client": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("a", "1", 5)), at(2, "a", "invoke", write("a", "1", "a-1", "x")),
				at(3, "a", "network", history.Event{Cause: "delay", Text: "what a sends waits"}),
				at(4, "a", "invoke", write("a", "1", "a-2", "y")), at(5, "storage", "applied", write("a", "1", "a-2", "y")), at(6, "a", "ok", write("a", "1", "a-2", "y")),
				at(7, "storage", "applied", write("a", "1", "a-1", "x")),
			},
			[]string{
				"grant lock service>a a holds /l: token 5", "send a>storage a writes k=x, no token (not answered yet)", "network a> what a sends waits",
				"admit a>storage a writes k=y, no token: applied unchecked",
				"admit a>storage a's write of k=x (no token) arrives 5 ms after it was sent: applied unchecked",
			},
		},
		"a write is drawn where it was sent if its client goes on": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("a", "1", 5)), at(2, "a", "invoke", write("a", "1", "a-1", "x")), at(4, "a", "invoke", write("a", "1", "a-2", "y")),
				at(5, "storage", "applied", write("a", "1", "a-2", "y")), at(7, "storage", "applied", write("a", "1", "a-1", "x")),
			},
			[]string{
				"grant lock service>a a holds /l: token 5", "send a>storage a writes k=x, no token (not answered yet)", "admit a>storage a writes k=y, no token: applied unchecked",
				"admit a>storage a's write of k=x (no token) arrives 5 ms after it was sent: applied unchecked",
			},
		},
		"a lock of a tenure that is over is not shared": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("a", "1", 5)), at(2, "etcd", "ended", history.Event{Client: "a", Tenure: "1", Cause: "expired"}),
				at(3, "b", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "1", Token: 5}),
			},
			[]string{"grant lock service>a a holds /l: token 5", "expiry lock service> a's lease on the lock expired", "reply lock service>b b is told that its lock of /l succeeded"},
		},
		"a lock that is held is taken again": {
			[]history.Event{
				at(1, "a", "invoke", history.Event{Op: "lock", Scope: "/l"}), at(2, "etcd", "granted", tenure("a", "1", 5)),
				at(3, "a", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "1", Token: 5}),
				at(4, "a", "invoke", history.Event{Op: "lock", Scope: "/l"}),
				at(5, "a", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "1", Token: 6}),
			},
			[]string{"grant lock service>a a holds /l: token 5", "reply lock service>a a takes /l again, which it holds: token 6"},
		},
		"a change is a write of each key": {
			[]history.Event{
				at(1, "c", "invoke", history.Event{Op: "change", Request: "c-1", Token: 5, Changes: abc}),
				at(2, "storage", "applied", history.Event{Op: "write", Client: "c", Request: "c-1", Token: 5, Key: "a", Value: "1"}),
				at(2, "storage", "applied", history.Event{Op: "write", Client: "c", Request: "c-1", Token: 5, Key: "b", Value: "2"}),
				at(3, "c", "ok", history.Event{Op: "change", Request: "c-1"}),
			},
			[]string{"admit c>storage c writes a=1, token 5 (1 of 2): applied unchecked", "admit c>storage c writes b=2, token 5 (2 of 2): applied unchecked"},
		},
		"a change of unknown outcome": {
			[]history.Event{at(1, "c", "invoke", history.Event{Op: "change", Request: "c-1", Changes: abc}), at(3, "c", "unknown", history.Event{Op: "change", Request: "c-1"})},
			[]string{"send c>storage c changes a=1, b=2, no token (not answered yet)", "unknown c> c does not know whether its change of a=1, b=2 took effect"},
		},
		"a look says no": {
			[]history.Event{
				at(1, "c", "invoke", history.Event{Op: "write", Key: "k", Value: "v"}), at(2, "c", "fail", history.Event{Op: "write", Reason: "lost"}),
				at(2, "etcd", "granted", tenure("c", "t", 7)), at(2, "etcd", "ended", history.Event{Client: "c", Cause: "expired"}),
				at(3, "c", "invoke", history.Event{Op: "unlock", Scope: "/l"}), at(4, "c", "fail", history.Event{Op: "unlock", Scope: "/l", Reason: "lost", Text: "its session is over"}),
			},
			[]string{"note c> c sends no write of k=v: it finds that the lock is not its own", "grant lock service>c c holds /l: token 7", "expiry lock service> c's lease on the lock expired", "lost c> c sends no unlock of /l: its session is over"},
		},
		"a client may show another number than that of its grant": {
			[]history.Event{
				at(1, "c", "invoke", lock), at(2, "etcd", "granted", tenure("c", "t", 7)), at(3, "c", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "t", Token: 9}),
				at(4, "d", "invoke", lock), at(5, "etcd", "granted", tenure("d", "u", 8)), at(6, "d", "ok", history.Event{Op: "lock", Scope: "/l", Tenure: "u", Token: 8}),
			},
			[]string{"grant lock service>c c holds /l: token 7", "note c> c shows token 9 from now on, not the grant's token 7", "grant lock service>d d holds /l: token 8"},
		},
		"a late unlock releases another tenure than its own": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("c", "t@7", 7)), at(2, "c", "invoke", history.Event{Op: "unlock", Scope: "/l", Tenure: "t@6", Token: 6}), at(3, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t@7", Cause: "released"}),
			},
			[]string{"grant lock service>c c holds /l: token 7", "release c>lock service c's unlock of its old tenure, token 6, releases its new one of /l, token 7"},
		},
		"an unlock releases a tenure without a token, which began by a renewal": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("c", "t~2", 0)), at(2, "c", "invoke", history.Event{Op: "unlock", Scope: "/l", Tenure: "t"}), at(3, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t~2", Cause: "released"}),
			},
			[]string{"grant lock service>c c holds /l: no token", "release c>lock service c's unlock of its old tenure, no token, releases its new one of /l"},
		},
		"an unlock of one lock releases another one, too": {
			[]history.Event{
				at(1, "etcd", "granted", history.Event{Client: "c", Scope: "/m", Tenure: "t /m"}), at(2, "c", "invoke", history.Event{Op: "unlock", Scope: "/l", Tenure: "t"}), at(3, "etcd", "ended", history.Event{Client: "c", Scope: "/m", Tenure: "t /m", Cause: "released"}),
			},
			[]string{"grant lock service>c c holds /m: no token", "send c>lock service c releases /l (not answered yet)", "release c>lock service c releases /m"},
		},
		"a lease is revoked, and the lock service says why": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("c", "t", 0)), at(2, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t", Cause: "revoked", Text: "redis1 has evicted its key"}),
			},
			[]string{"grant lock service>c c holds /l: no token", "expiry lock service> c's lease on /l was revoked: redis1 has evicted its key"},
		},
		"a tenure without a lease ends with something else": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("c", "t", 0)), at(2, "c", "pause", history.Event{Cause: "SIGSTOP"}),
				at(7, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t", Cause: "expired", Text: "with its connection"}),
			},
			[]string{"grant lock service>c c holds /l: no token", "pause c> c is stopped (SIGSTOP)", "expiry lock service> c's tenure of /l ended with its connection, 5 ms after it was stopped"},
		},
		"who holds the lock asks nobody for it": {
			[]history.Event{at(1, "c", "invoke", lock), at(2, "c", "fail", history.Event{Op: "lock", Scope: "/l", Reason: "held"})},
			[]string{"fail c> c's lock of /l failed: held"},
		},
		"a lock that failed after its client queued": {
			[]history.Event{
				at(1, "etcd", "granted", tenure("d", "s", 5)), at(1, "c", "invoke", lock), at(2, "etcd", "queued", tenure("c", "t", 7)), at(3, "c", "pause", history.Event{}),
				at(4, "etcd", "granted", tenure("c", "t", 7)), at(5, "etcd", "ended", history.Event{Client: "c", Scope: "/l", Tenure: "t", Cause: "expired"}),
				at(6, "c", "fail", history.Event{Op: "lock", Scope: "/l", Reason: "expired"}),
			},
			[]string{
				"grant lock service>d d holds /l: token 5", "queue c>lock service c waits in the queue for /l, its ticket is 7", "pause c> c is stopped", "grant lock service>c c holds /l: token 7 (it stands still)",
				"expiry lock service> c's lease on /l expired, 2 ms after it was stopped", "fail lock service>c c's lock of /l, which d holds, failed: expired",
			},
		},
		"a lock of which nothing is known": {
			[]history.Event{
				at(1, "c", "invoke", lock), at(2, "etcd", "granted", tenure("c", "t", 7)), at(3, "c", "unknown", history.Event{Op: "lock", Scope: "/l", Text: "no answer"}),
				at(4, "c", "invoke", history.Event{Op: "trylock", Scope: "/l"}), at(5, "c", "fail", history.Event{Op: "trylock", Scope: "/l", Reason: "lost"}),
			},
			[]string{
				"grant lock service>c c holds /l: token 7", "unknown c> c does not know whether its lock of /l took effect: no answer",
				"fail lock service>c c does not get /l: lost",
			},
		},
		"a retry waits while its client goes on": {
			[]history.Event{
				at(1, "c", "invoke", write("c", "1", "c-1", "first")), at(2, "storage", "applied", write("c", "1", "c-1", "first")),
				at(3, "c", "network", history.Event{Cause: "reset"}), at(4, "c", "unknown", write("c", "1", "c-1", "first")),
				at(5, "c", "invoke", history.Event{Op: "write", Request: "c-2", RetryOf: "c-1", Key: "k", Value: "first", Token: 2}),
				at(6, "c", "invoke", write("c", "1", "c-3", "second")), at(7, "storage", "applied", write("c", "1", "c-3", "second")), at(8, "c", "ok", write("c", "1", "c-3", "second")),
				at(9, "storage", "applied", write("c", "1", "c-2", "first")),
			},
			[]string{
				"admit c>storage c writes k=first, no token: applied unchecked", "network c> c's network: reset", "unknown c> c does not know whether its write of k=first took effect",
				"send c>storage c writes k=first, token 2 (a retry) (not answered yet)", "admit c>storage c writes k=second, no token: applied unchecked",
				"admit c>storage c's write of k=first (token 2) arrives 4 ms after it was sent: applied unchecked",
			},
		},
		"a duplicate": {
			[]history.Event{at(1, "c", "invoke", write("c", "1", "c-1", "x")), at(2, "storage", "duplicate", write("c", "1", "c-1", "x")), at(3, "c", "ok", write("c", "1", "c-1", "x")), at(4, "gcsim", "end", history.Event{})},
			[]string{"admit c>storage c writes k=x, no token: a duplicate, done before and not done again"},
		},
		"no answer": {
			[]history.Event{at(1, "c", "invoke", write("c", "1", "c-1", "x")), at(2, "storage", "unanswered", write("c", "1", "c-1", "x")), at(3, "c", "unknown", write("c", "1", "c-1", "x")), at(4, "gcsim", "end", history.Event{})},
			[]string{"note c>storage c writes k=x, no token: NO ANSWER", "unknown c> c does not know whether its write of k=x took effect"},
		},
		"what was applied and denied has two rows": {
			[]history.Event{at(1, "c", "invoke", write("c", "1", "c-1", "x")), at(2, "c", "fail", write("c", "1", "c-1", "x")), at(3, "storage", "applied", write("c", "1", "c-1", "x"))},
			[]string{"fail storage>c c's write of k=x failed", "admit c>storage c writes k=x, no token: applied unchecked"},
		},
		"the storage may tell first": {
			[]history.Event{at(1, "storage", "applied", write("c", "1", "c-1", "x")), at(2, "c", "invoke", write("c", "1", "c-1", "x")), at(3, "c", "ok", write("c", "1", "c-1", "x"))},
			[]string{"admit c>storage c writes k=x, no token: applied unchecked"},
		},
		"a count": {
			[]history.Event{
				at(1, "c", "invoke", history.Event{Op: "count", Key: "k"}), at(900, "c", "ok", history.Event{Op: "count", Key: "k"}),
				at(901, "d", "fail", history.Event{Op: "count", Key: "k", Text: "etcd is gone"}),
			},
			[]string{"note c> c begins to count in k", "note c> c has counted in k", "fail d> d's count of k failed: etcd is gone"},
		},
		"servers fail as well": {
			[]history.Event{
				at(1, "c", "invoke", write("c", "1", "c-1", "v")), at(2, "storage", "kill", history.Event{}), at(3, "storage", "restart", history.Event{}),
				at(4, "etcd", "pause", history.Event{Cause: "SIGSTOP"}), at(9, "etcd", "resume", history.Event{}), at(10, "c", "network", history.Event{Cause: "heal"}),
				at(11, "etcd", "ended", history.Event{Client: "c", Cause: "revoked"}),
			},
			[]string{
				"send c>storage c writes k=v, no token (not answered yet)", "kill storage> the storage is killed", "restart storage> the storage is started again",
				"pause lock service> the lock service is stopped (SIGSTOP)", "resume lock service> the lock service goes on; it stood still for 5 ms", "network c> c's network: heal",
				"expiry lock service> c's lease on the lock was revoked",
			},
		},
		"a machine that is busy is no step": {
			[]history.Event{at(1, history.LaneLab, "pause", history.Event{}), at(2, history.LaneLab, "resume", history.Event{Took: time.Second})},
			[]string{"pause > the machine stands still, which is nobody's step", "resume > the machine goes on; it stood still for 1.00 s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, says(test.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunInWords(t *testing.T) {
	for want, run := range map[string]history.Run{
		"v: the storage checks no tokens":                               {Variant: "v"},
		"the run: the storage checks no tokens":                         {},
		"v: the storage checks tokens (seed 42)":                        {Variant: "v", Fencing: true, Seed: 42},
		"v (the control): leases as tokens":                             {Variant: "v", Control: true, About: "leases as tokens"},
		"v (the control): leases as tokens (seed 18446744073709551615)": {Variant: "v", Control: true, About: "leases as tokens", Seed: 1<<64 - 1},
	} {
		if name, about := Variant(run); name+": "+about != want {
			t.Errorf("got %s: %s, want %s", name, about, want)
		}
	}
}

// The mark is told where it changes, and of each lock apart.
func TestMarks(t *testing.T) {
	applied := func(scope string, mark fence.Token) history.Event {
		return history.Event{Lane: "storage", Kind: "applied", Client: "c", Scope: scope, Op: "write", Mark: mark}
	}
	for fencing, want := range map[bool][]string{true: {"5", "", "5", "9", "2"}, false: {"", "", "", "", ""}} {
		events := []history.Event{{Kind: "run", Run: &history.Run{Fencing: fencing}}, applied("/a", 5), applied("/a", 5), applied("/b", 5), applied("/a", 9), applied("/a", 2)}
		var got []string
		for _, r := range NewBuilder().Add(events, nil) {
			got = append(got, r.Mark)
		}
		if !slices.Equal(got, want) {
			t.Errorf("fencing %v: got %q, want %q", fencing, got, want)
		}
	}
}

// Every way in which a lease is no longer shared out frees all lanes at once.
func TestSharedTenureEnds(t *testing.T) {
	rows := NewBuilder().Add([]history.Event{
		{Lane: "etcd", Kind: "granted", Client: "a", Tenure: "1"},
		{At: ms, Lane: "b", Kind: "ok", Op: "lock", Tenure: "1"},
		{At: 2 * ms, Lane: "etcd", Kind: "ended", Client: "a", Tenure: "1", Cause: "expired"},
	}, nil)
	for i, want := range []int{1, 2, 0} {
		got := 0
		for _, l := range rows[i].Lanes {
			got += l.Tenure
		}
		if got != want {
			t.Errorf("after %q: %d lanes hold the lock, want %d", rows[i].Text, got, want)
		}
	}
}
