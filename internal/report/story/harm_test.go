package story

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestHarmInWords: each kind of violation has words of its own, at the event at
// which it shows.
func TestHarmInWords(t *testing.T) {
	done := func(kind history.Kind, client, op, key string) history.Event {
		e := history.Event{Lane: history.LaneStorage, Kind: kind, Client: client, Op: op, Key: key, Scope: "/l", Token: 5, Mark: 9}
		if op == history.OpWrite {
			e.Value = "from-" + client
		}
		return e
	}
	const write, read, remove = history.OpWrite, history.OpRead, history.OpDelete
	applied, refused := history.KindApplied, history.KindRefused
	late := done(applied, "a", write, "k")
	granted := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: "a", Tenure: "/l/a", Scope: "/l", Token: 5}
	queued := history.Event{Lane: "etcd", Kind: history.KindQueued, Client: "b", Tenure: "/l/b", Scope: "/l", Token: 4}
	final := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: "k", Value: "x"}
	for name, test := range map[string]struct {
		kind          history.ViolationKind
		before, event history.Event
		want          string
	}{
		"over a later write":         {history.Stale, done(applied, "b", write, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked: b's k=from-b is destroyed"},
		"over a later delete":        {history.Stale, done(applied, "b", remove, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked: b's delete of k is undone"},
		"after a later read":         {history.Stale, done(applied, "b", read, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, though b, the later holder, had been there"},
		"after a write of another":   {history.Stale, done(applied, "b", write, "j"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, though b, the later holder, had been there"},
		"a read that shares":         {history.Stale, done(applied, "b", write, "k"), done(applied, "a", read, "k"), "harm a>storage a reads k, token 5: applied unchecked, though b, the later holder, had been there"},
		"without the lock":           {history.Unheld, done(applied, "b", write, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, without the lock: b's k=from-b is destroyed"},
		"without the lock, no write": {history.Unheld, done(applied, "b", read, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, without the lock, though b, its holder, had been there"},
		"two locks":                  {history.Unguarded, done(applied, "b", write, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked: b's k=from-b is destroyed and was made under another lock, /l"},
		"one tenure":                 {history.Shared, done(applied, "b", write, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, though b works in the same tenure"},
		"late":                       {history.Late, done(applied, "a", write, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked: its later k=from-a is undone, though it was acknowledged"},
		"late, over a delete":        {history.Late, done(applied, "a", remove, "k"), late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked: its later delete of k is undone, though it was acknowledged"},
		"denied":                     {history.Denied, history.Event{}, late, "harm a>storage a writes k=from-a, token 5: APPLIED unchecked, though a was told that it failed"},
		"denied afterwards":          {history.Denied, late, history.Event{Lane: "a", Kind: history.KindFail, Op: write, Key: "k", Value: "x"}, "harm storage>a a's write of k=x failed, but it was APPLIED"},
		"lost at the end":            {history.Lost, late, final, "harm storage> at the end: k=x: a's k=from-a is LOST"},
		"nobody's":                   {history.Lost, history.Event{}, final, "harm storage> at the end: k=x, which nobody wrote: LOST"},
		"lost for a reader":          {history.Lost, late, done(applied, "b", read, "k"), "harm b>storage b reads k, token 5: applied unchecked: a's k=from-a is LOST"},
		"half of a change":           {history.Torn, late, final, "harm storage> at the end: k=x: a's k=from-a is HALF of a change"},
		"the holder":                 {history.Refusal, history.Event{}, done(refused, "a", write, "k"), "block a>storage a writes k=from-a, token 5: REFUSED:, though a HOLDS the lock"},
		"a free lock":                {history.NotGranted, history.Event{}, history.Event{Lane: "a", Kind: history.KindFail, Op: history.OpTryLock, Scope: "/l"}, "block lock service>a a does not get /l, though the lock was FREE"},
		"a free lock, granted late":  {history.NotGranted, queued, granted, "block lock service>a a holds /l: token 5: it is the text"},
		"a lock of the dead":         {history.Orphaned, granted, history.Event{Lane: "etcd", Kind: history.KindEnded, Client: "a", Scope: "/l", Cause: history.CauseExpired}, "block lock service> a's lease on /l expired: it is the text"},
		"a cycle of waits":           {history.Deadlocked, granted, history.Event{Lane: "b", Kind: history.KindFail, Op: history.OpLock, Scope: "/l"}, "block lock service>b b's lock of /l, which a holds, failed: it is the text"},
		"it is never over":           {history.Orphaned, granted, history.Event{Lane: history.LaneLab, Kind: history.KindEnd}, "block > BLOCKED: it is the text"},
		"not exclusive":              {history.Overlap, queued, granted, "grant lock service>a a holds /l: token 5, though b's tenure is not over: NOT EXCLUSIVE"},
		"not fair":                   {history.Passed, queued, granted, "grant lock service>a a holds /l: token 5, though b had queued earlier: NOT FAIR"},
		"not fair, without a row":    {history.Passed, queued, history.Event{Lane: "a", Kind: history.KindEnd}, "note a> NOT FAIR: it is the text"},
		"an acknowledgement":         {history.Lost, history.Event{}, history.Event{Lane: "a", Kind: history.KindEnd}, "harm a> CORRUPTED: it is the text"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.event.Kind == refused {
				test.event.Reason = "stale"
				test.want = strings.Replace(test.want, "REFUSED:,", "REFUSED as stale: the mark is 9,", 1)
			}
			v := history.Violation{Verdict: history.Corrupted, Kind: test.kind, Text: "it is the text", Before: 0, Event: 1}
			if test.before.Kind == "" {
				v.Before = -1
			}
			switch test.kind {
			case history.Refusal, history.NotGranted, history.Orphaned, history.Deadlocked:
				v.Verdict = history.Blocked
			case history.Overlap, history.Passed:
				v.Verdict = ""
			}
			rows := NewBuilder().Add([]history.Event{test.before, test.event}, []history.Violation{v})
			if rows[len(rows)-1].ordinary() {
				t.Error("it could be folded away")
			}
			got := said(rows)
			if got[len(got)-1] != test.want {
				t.Errorf("got\n%s\nwant\n%s", got[len(got)-1], test.want)
			}
		})
	}
}

// TestHarmThatShowsLater: what becomes a violation only by a later event, as where
// a second client is told that the lock is its own, is drawn when it is known.
func TestHarmThatShowsLater(t *testing.T) {
	b := NewBuilder()
	write := history.Event{At: ms, Lane: history.LaneStorage, Kind: history.KindApplied, Client: "a", Op: history.OpWrite, Key: "k", Value: "x"}
	v := history.Violation{Verdict: history.Corrupted, Kind: history.Shared, Text: "a is not alone", Before: -1}
	b.Add([]history.Event{write}, nil)
	note := history.Event{At: 2 * ms, Lane: "b", Kind: history.KindNote, Text: "it is mine"}
	for i, want := range [][]string{{"note b> it is mine", "harm storage> CORRUPTED: a is not alone"}, {"note b> it is mine"}} {
		if diff := cmp.Diff(want, said(b.Add([]history.Event{note}, []history.Violation{v}))); diff != "" {
			t.Errorf("step %d: %s", i+2, diff)
		}
	}
}

// TestJudgedHarm: what the report once drew as an ordinary step, though the verdict
// was corrupted.
func TestJudgedHarm(t *testing.T) {
	granted := func(client string) history.Event {
		return history.Event{Lane: "etcd", Kind: history.KindGranted, Client: client, Tenure: "/l@" + client, Scope: "/l", Token: 2}
	}
	ended := granted("a")
	ended.Kind, ended.Cause = history.KindEnded, history.CauseExpired
	// do is a request and what the storage did; without a tenure its client holds no lock.
	do := func(client, tenure, op, key, value string) []history.Event {
		e := history.Event{Lane: client, Kind: history.KindInvoke, Op: op, Tenure: tenure, Request: client + op + key, Scope: "/l", Key: key, Value: value}
		told := e
		told.Lane, told.Kind, told.Client, told.Tenure = history.LaneStorage, history.KindApplied, client, ""
		return []history.Event{e, told}
	}
	run := history.Event{Kind: history.KindRun, Run: &history.Run{Together: [][]string{{"x", "y"}}}}
	for name, test := range map[string]struct {
		events []history.Event
		want   string
	}{
		"half of a change is read": {
			slices.Concat([]history.Event{run, granted("a")}, do("a", "/l@a", "write", "x", "new"), []history.Event{ended, granted("b")}, do("b", "/l@b", "read", "x", "new")),
			"harm b>storage b reads x, no token: applied unchecked: a's x=new is HALF of a change",
		},
		"a client without the lock writes over its holder": {
			slices.Concat([]history.Event{run, granted("a")}, do("a", "/l@a", "write", "k", "a's"), do("b", "", "write", "k", "b's")),
			"harm b>storage b writes k=b's, no token: APPLIED unchecked, without the lock: a's k=a's is destroyed",
		},
	} {
		var red []string
		for _, line := range said(NewBuilder().Add(test.events, verdict.Judge(test.events).Violations)) {
			if strings.HasPrefix(line, ClassHarm.Name) {
				red = append(red, line)
			}
		}
		if diff := cmp.Diff([]string{test.want}, red); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
