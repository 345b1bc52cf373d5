package story

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
)

const ms = time.Millisecond

// says returns what the rows of events say, one line per row.
func says(events ...history.Event) []string { return said(NewBuilder().Add(events, nil)) }

func said(rows []Row) (lines []string) {
	for _, r := range rows {
		lines = append(lines, strings.TrimSpace(r.Class.Name+" "+r.Lane+">"+r.To+" "+r.Text.String()))
	}
	return lines
}

func TestRows(t *testing.T) {
	write := func(at time.Duration, lane string, k history.Kind) history.Event {
		return history.Event{At: at, Lane: lane, Kind: k, Op: history.OpWrite, Request: "r", Client: "c", Token: 5, Mark: 5, Key: "k", Value: "v"}
	}
	read := func(at time.Duration, lane string, k history.Kind) history.Event {
		e := write(at, lane, k)
		e.Op = history.OpRead
		return e
	}
	lock := func(at time.Duration, lane string, k history.Kind) history.Event {
		return history.Event{At: at, Lane: lane, Kind: k, Op: history.OpLock, Client: "c", Token: 5, Scope: "/l"}
	}
	for name, test := range map[string]struct {
		events []history.Event
		want   []string
	}{
		"a request, its account and its answer are one step": {
			[]history.Event{write(1*ms, "c", "invoke"), write(2*ms, "storage", "applied"), write(3*ms, "c", "ok")},
			[]string{"admit c>storage c writes k=v, token 5: applied unchecked"},
		},
		"a slow one is two": {
			[]history.Event{write(1*ms, "c", "invoke"), write(301*ms, "storage", "applied"), write(900*ms, "c", "ok")},
			[]string{"send c>storage c writes k=v, token 5 (not answered yet)", "admit c>storage c's write of k=v (token 5) arrives 300 ms after it was sent: applied unchecked"},
		},
		"what is part of a transaction is sent, and committed": {
			[]history.Event{write(1*ms, "c", "invoke"), write(2*ms, "c", "note"), write(5*ms, "storage", "applied"), write(6*ms, "c", "ok")},
			[]string{"send c>storage c writes k=v, token 5 (not committed yet)", "admit c>storage c's write of k=v (token 5) is committed 4 ms after it was sent: applied unchecked"},
		},
		"or not committed": {
			[]history.Event{write(1*ms, "c", "invoke"), write(2*ms, "c", "note"), write(6*ms, "c", "fail")},
			[]string{"send c>storage c writes k=v, token 5 (not committed yet)", "fail storage>c c's write of k=v failed"},
		},
		"a read in a transaction has found something": {
			[]history.Event{read(1*ms, "c", "invoke"), read(2*ms, "c", "note"), read(5*ms, "storage", "applied"), read(6*ms, "c", "ok")},
			[]string{"send c>storage c reads k, token 5, and gets k=v (not committed yet)", "admit c>storage c's read of k (token 5) is committed 4 ms after it was sent: applied unchecked"},
		},
		"an account may come after the answer": {
			[]history.Event{lock(1*ms, "c", "invoke"), lock(2*ms, "c", "ok"), lock(3*ms, "etcd", "granted")},
			[]string{"grant lock service>c c holds /l: token 5"},
		},
		"also after a long wait": {
			[]history.Event{lock(1*ms, "c", "invoke"), {At: 500 * ms, Lane: "c", Kind: "note", Text: "hi"}, lock(600*ms, "c", "ok"), lock(601*ms, "etcd", "granted")},
			[]string{"send c>lock service c asks for /l and waits", "note c> hi", "grant lock service>c c holds /l: token 5 (it waited for 600 ms)"},
		},
		"an unlock that is a part of a try": {
			[]history.Event{
				{At: 1 * ms, Lane: "c", Kind: "invoke", Op: "trylock", Scope: "/l"}, {At: 2 * ms, Lane: "c", Kind: "invoke", Op: "unlock", Scope: "/l"},
				{At: 3 * ms, Lane: "c", Kind: "ok", Op: "unlock", Scope: "/l"}, {At: 4 * ms, Lane: "c", Kind: "fail", Op: "trylock", Scope: "/l"},
			},
			[]string{"send c>lock service c releases /l, which it has not got", "fail lock service>c c does not get /l"},
		},
		"an answer without an account is told late": {
			[]history.Event{write(1*ms, "c", "invoke"), write(2*ms, "c", "ok")},
			[]string{"reply storage>c c is told that its write of k=v succeeded"},
		},
		"an answer to nothing is told at once": {
			[]history.Event{write(2*ms, "c", "ok")},
			[]string{"reply storage>c c is told that its write of k=v succeeded"},
		},
		"a request in flight shows at the end": {
			[]history.Event{write(1*ms, "c", "invoke")},
			[]string{"send c>storage c writes k=v, token 5 (not answered yet)"},
		},
		"a pause shows the request that it cuts": {
			[]history.Event{write(1*ms, "c", "invoke"), {At: 2 * ms, Lane: "c", Kind: "pause"}, write(2*ms, "storage", "refused")},
			[]string{"send c>storage c writes k=v, token 5 (not answered yet)", "pause c> c is stopped", "refuse c>storage c's write of k=v (token 5) arrives 1 ms after it was sent: REFUSED"},
		},
		"a request of unknown outcome may still arrive": {
			[]history.Event{write(1*ms, "c", "invoke"), write(9*ms, "c", "unknown"), write(20*ms, "storage", "applied")},
			[]string{"send c>storage c writes k=v, token 5 (not answered yet)", "unknown c> c does not know whether its write of k=v took effect", "admit c>storage c's write of k=v (token 5) arrives 19 ms after it was sent: applied unchecked"},
		},
		"the storage may remark on what it did": {
			[]history.Event{{Lane: "storage", Kind: "applied", Op: "delete", Client: "c", Key: "k", Text: "duplicate"}},
			[]string{"admit c>storage c deletes k, no token: applied unchecked (duplicate)"},
		},
		"a lease's end is counted from the fault": {
			[]history.Event{{Lane: "c", Kind: "kill"}, {At: 9 * ms, Lane: "etcd", Kind: "ended", Client: "c", Cause: "expired"}, {At: 9 * ms, Lane: "etcd", Kind: "ended", Client: "c", Cause: "expired", Took: 5 * ms}},
			[]string{"kill c> c is killed", "expiry lock service> c's lease on the lock expired, 9 ms after it was killed", "expiry lock service> c's lease on the lock expired, 5 ms after it was killed"},
		},
		"unknown kinds and lanes": {
			[]history.Event{{Lane: "x", Kind: "earthquake", Text: "5.1"}, {Lane: "gcsim", Kind: "error", Text: "no\netcd"}},
			[]string{"note x> earthquake 5.1", "error > the run could not go on: no etcd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, says(test.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for reason, want := range map[string]string{
		"stale":   "REFUSED as stale: the mark is 9",
		"missing": "REFUSED: a token is required",
		"invalid": "REFUSED: that is no valid token",
		"ahead":   "REFUSED as ahead: the lock service gave out no token so high",
		"other":   "REFUSED: other",
	} {
		got := says(history.Event{Lane: "storage", Kind: "refused", Client: "c", Op: "write", Reason: reason, Token: 5, Mark: 9})
		if !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: got %q, want it to end in %q", reason, got, want)
		}
	}
	got := says(history.Event{Lane: "storage", Kind: "refused", Client: "c", Op: "write", Reason: "stale", Token: 9, Mark: 9})
	if want := "a later request of this tenure was done"; !strings.HasSuffix(got[0], want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
	newer := says(history.Event{Lane: "storage", Kind: "refused", Client: "c", Op: "write", Reason: "stale", Token: 10, Mark: 9})
	if want := "REFUSED as stale: token 10 differs from the mark, 9"; !strings.HasSuffix(newer[0], want) {
		t.Errorf("a newer token: got %q, want it to end in %q", newer[0], want)
	}
}

func TestLanes(t *testing.T) {
	rows := NewBuilder().Add([]history.Event{
		{Kind: "run", Run: &history.Run{Lanes: []string{"etcd", "c"}}},
		{At: 1 * ms, Lane: "etcd", Kind: "granted", Client: "c"},
		{At: 2 * ms, Lane: "c", Kind: "pause"},
		{At: 3 * ms, Lane: "etcd", Kind: "ended", Client: "c", Cause: "expired"},
		{At: 7 * ms, Lane: "c", Kind: "resume"},
		{At: 8 * ms, Lane: "c", Kind: "kill"},
		{At: 9 * ms, Lane: "new", Kind: "note"},
		{At: 10 * ms, Lane: "c", Kind: "invoke", Op: "read", Key: "k"},
	}, nil)
	var got []Lane
	for _, r := range rows {
		got = append(got, r.Lanes[1])
	}
	want := []Lane{{"c", Running, 0, 1, false}, {"c", Paused, 2 * ms, 1, false}, {"c", Paused, 2 * ms, 0, false}, {"c", Running, 7 * ms, 0, false}, {"c", Dead, 8 * ms, 0, false}, {"c", Dead, 8 * ms, 0, false}, {"c", Running, 8 * ms, 0, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if took := rows[3].Took; took != 5*ms {
		t.Errorf("paused at 2 ms, resumed at 7 ms: took %v", took)
	}
	if last := rows[len(rows)-1].Lanes; !slices.ContainsFunc(last, func(l Lane) bool { return l.Name == "new" }) {
		t.Errorf("no lane for an actor that the run does not name: %v", last)
	}
}

// TestSteps: what a step leaves open is drawn at its end, and what comes of it when
// it comes.
func TestSteps(t *testing.T) {
	write := func(lane string, kind history.Kind, request string) history.Event {
		return history.Event{At: ms, Lane: lane, Kind: kind, Client: "c", Op: history.OpWrite, Request: request, Key: "k", Value: request}
	}
	b := NewBuilder()
	for i, step := range []struct {
		events []history.Event
		want   []string
	}{
		{[]history.Event{write("c", "invoke", "1"), write("storage", "applied", "1"), write("c", "invoke", "2")},
			[]string{"admit c>storage c writes k=1, no token: applied unchecked", "send c>storage c writes k=2, no token (not answered yet)"}},
		{[]history.Event{write("c", "ok", "1")}, nil},
		{[]history.Event{write("storage", "applied", "2"), write("c", "ok", "2")},
			[]string{"admit c>storage c's write of k=2 (no token) arrives: applied unchecked"}},
	} {
		if diff := cmp.Diff(step.want, said(b.Add(step.events, nil))); diff != "" {
			t.Errorf("step %d: %s", i+1, diff)
		}
	}
}
