package kv

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func putMemory(t *testing.T, m *Memory, c fence.Claim, key, value string) {
	t.Helper()
	if err := m.Write(t.Context(), Request{Claim: c}, Op{Kind: OpWrite, Key: key, Value: value}); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotBeginsSmall: nothing that grows with the number of keys is done while
// writers wait for a snapshot to begin.
func TestSnapshotBeginsSmall(t *testing.T) {
	m := NewMemory(Options{})
	for i := range 50_000 {
		putMemory(t, m, fence.Claim{Scope: "/lock", Token: 1}, fmt.Sprint("key", i), "value")
	}
	var before, after runtime.MemStats
	begun := errors.New("it has begun")
	runtime.ReadMemStats(&before)
	err := m.Snapshot(t.Context(), func(Entry) error {
		runtime.ReadMemStats(&after)
		return begun
	})
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, begun) || took > 500_000 {
		t.Errorf("%v; it took %d bytes before its first entry", err, took)
	}
}

// TestSnapshotBesideChanges: whatever is changed while visit runs, it sees what was
// there when the snapshot began, each key once.
func TestSnapshotBesideChanges(t *testing.T) {
	m := NewMemory(Options{})
	want := map[string]string{}
	for i := range 10_000 {
		key := fmt.Sprint("key", i)
		putMemory(t, m, fence.Claim{Scope: "/lock", Token: 1}, key, "old")
		want[key] = "old"
	}
	changed := 0
	change := func() {
		c := fence.Claim{Scope: "/lock", Token: 2}
		putMemory(t, m, c, fmt.Sprint("key", changed), "new")
		putMemory(t, m, c, fmt.Sprint("another", changed), "new")
		gone := Op{Kind: OpDelete, Key: fmt.Sprint("key", 9_999-changed)}
		if err := m.Write(t.Context(), Request{Claim: c}, gone); err != nil {
			t.Fatal(err)
		}
		changed++
	}
	got := map[string]string{}
	collect := func(e Entry) error {
		if e.Kind == EntryMark && e.Token != 1 {
			t.Errorf("the mark is %d, want the old one", e.Token)
		}
		if e.Kind != EntryItem {
			return nil
		}
		if _, twice := got[string(e.Name)]; twice {
			t.Errorf("%s comes twice", e.Name)
		}
		got[string(e.Name)] = string(e.Value)
		if changed < 5_000 {
			change()
		}
		return nil
	}
	if err := m.Snapshot(t.Context(), collect); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("it has %d keys, want the %d old ones", len(got), len(want))
	}
	after := map[string]string{}
	err := m.Snapshot(t.Context(), func(e Entry) error {
		if e.Kind == EntryItem {
			after[string(e.Name)] = string(e.Value)
		}
		return nil
	})
	if err != nil || len(after) != 10_000 || after["key0"] != "new" || after["another0"] != "new" {
		t.Errorf("the next one has %d keys, %v, want the new ones", len(after), err)
	}
}

// TestMarksChangeWhileTheyAreCopied: the copy has the marks of the moment at which
// the snapshot began.
func TestMarksChangeWhileTheyAreCopied(t *testing.T) {
	m := NewMemory(Options{})
	putMemory(t, m, fence.Claim{Scope: "/same", Token: 3}, "a", "")
	putMemory(t, m, fence.Claim{Scope: "/raised", Token: 4, Sequence: 1}, "b", "")
	changed := m.freeze()
	for token := range fence.Token(3) {
		putMemory(t, m, fence.Claim{Scope: "/raised", Token: 5 + token}, "b", "")
		putMemory(t, m, fence.Claim{Scope: "/new", Token: 5 + token}, "c", "")
	}
	got := map[string]fence.Mark{}
	for _, s := range m.copyMarks(changed, 0) {
		got[s.scope] = s.mark
	}
	want := map[string]fence.Mark{"/same": {Token: 3}, "/raised": {Token: 4, Sequence: 1}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if m.changed != nil {
		t.Error("marks are kept when they have been copied")
	}
}
