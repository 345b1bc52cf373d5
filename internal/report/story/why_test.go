package story

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestWhy: of work that came late the words say who held the lock, what came then, and what that did. Where the order of
// the tenures is not known, or there are no words for a kind, the judgement's are there.
func TestWhy(t *testing.T) {
	const applied, write, read, remove = history.KindApplied, history.OpWrite, history.OpRead, history.OpDelete
	granted := func(client string) history.Event {
		return history.Event{Lane: "etcd", Kind: history.KindGranted, Client: client, Tenure: "of-" + client, Scope: "/l"}
	}
	does := func(client, op, key, value string) history.Event {
		return history.Event{Lane: history.LaneStorage, Kind: applied, Op: op, Client: client, Tenure: "of-" + client, Scope: "/l", Key: key, Value: value}
	}
	late := does("c1", write, "k", "1")
	for name, test := range map[string]struct {
		kind          history.ViolationKind
		before, event history.Event
		want          string
	}{
		"over a write":  {history.Stale, does("c2", write, "k", "2"), late, "c2 took /l after c1, and wrote k=2. Then c1, the earlier holder, wrote k=1. That destroyed what c2 wrote, and c2 does not know."},
		"over a delete": {history.Stale, does("c2", remove, "k", ""), late, "c2 took /l after c1, and deleted k. Then c1, the earlier holder, wrote k=1. That undid c2's delete, and c2 does not know."},
		"after a read":  {history.Stale, does("c2", read, "k", "0"), late, "c2 took /l after c1, and read k=0. Then c1, the earlier holder, wrote k=1. So what c2 has read is out of date, and c2 does not know."},
		"another key":   {history.Stale, does("c2", read, "j", ""), late, "c2 took /l after c1, and read j. Then c1, the earlier holder, wrote k=1. So what c2 knows of k may be out of date: the lock was to keep all others out."},
		"a late read":   {history.Stale, does("c2", write, "k", "2"), does("c1", read, "k", "2"), "c2 took /l after c1, and wrote k=2. Then c1, the earlier holder, read k=2. What c1 read may be half of c2's work."},
		"no lock":       {history.Unheld, does("c2", write, "k", "2"), does("c3", remove, "k", ""), "c2 held /l, and wrote k=2. Then c3, which did not hold it, deleted k. That destroyed what c2 wrote, and c2 does not know."},
		"no order":      {history.Stale, late, does("c2", write, "k", "2"), "the judgement"},
		"its own":       {history.Stale, does("c2", write, "k", "2"), does("c2", write, "k", "1"), "the judgement"},
		"another kind":  {history.Late, does("c2", write, "k", "2"), late, "the judgement"},
	} {
		b := NewBuilder()
		b.Add([]history.Event{granted("c1"), granted("c2"), test.before, test.event}, nil)
		list := b.Why(Outcome{Violations: []history.Violation{{Verdict: history.Corrupted, Kind: test.kind, Text: "the judgement", Before: 2, Event: 3}}})
		if len(list) != 1 || list[0].String() != test.want {
			t.Errorf("%s: got %q, want %q", name, list, test.want)
		}
	}
}

// TestSides: who did the harm, and to whom it was done.
func TestSides(t *testing.T) {
	does := func(kind history.Kind, lane, op, client string) history.Event {
		return history.Event{Lane: lane, Kind: kind, Op: op, Client: client, Scope: "/l", Key: "k"}
	}
	const applied, storage, write, read = history.KindApplied, history.LaneStorage, history.OpWrite, history.OpRead
	first, late := does(applied, storage, write, "c2"), does(applied, storage, write, "c1")
	final := does(history.KindFinal, storage, "", "")
	waits, fails := does(history.KindInvoke, "c2", history.OpLock, ""), does(history.KindFail, "c2", history.OpLock, "")
	for name, test := range map[string]struct {
		verdict       string
		kind          history.ViolationKind
		before, event history.Event
		alone         bool // the event is enough
		by, to        string
	}{
		"over a write":    {history.Corrupted, history.Stale, first, late, false, "c1", "c2"},
		"after a read":    {history.Corrupted, history.Stale, does(applied, storage, read, "c2"), late, false, "c1", "c2"},
		"a late read":     {history.Corrupted, history.Stale, first, does(applied, storage, read, "c1"), false, "", "c1"},
		"its own":         {history.Corrupted, history.Late, late, late, false, "", "c1"},
		"it is gone":      {history.Corrupted, history.Lost, first, final, false, "", "c2"},
		"nobody wrote it": {history.Corrupted, history.Lost, first, final, true, "", ""},
		"never made":      {history.Corrupted, history.Lost, first, does(history.KindOK, "c1", write, ""), true, "", "c1"},
		"refused":         {history.Blocked, history.Refusal, does(history.KindGranted, "etcd", "", "c2"), does(history.KindRefused, storage, write, "c2"), false, "", "c2"},
		"waits":           {history.Blocked, history.NotGranted, waits, late, false, "", "c2"},
		"not granted":     {history.Blocked, history.NotGranted, first, fails, true, "", "c2"},
		"held too long":   {history.Blocked, history.Orphaned, does(history.KindGranted, "etcd", "", "c2"), late, false, "", ""},
	} {
		b := NewBuilder()
		test.before.Request, test.event.Request = "before", "event"
		invoke := does(history.KindInvoke, "c1", write, "")
		invoke.Request = "event"
		if test.event.Kind != history.KindOK {
			invoke.Request = "another"
		}
		b.Add([]history.Event{test.before, invoke, test.event}, nil)
		v := history.Violation{Verdict: test.verdict, Kind: test.kind, Before: 0, Event: 2}
		if test.alone {
			v.Before = -1
		}
		if by, to := b.Sides(v); by != test.by || to != test.to {
			t.Errorf("%s: it was done by %q to %q, want by %q to %q", name, by, to, test.by, test.to)
		}
	}
}
