package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestHolds: what the storage holds follows from what it did, and from what it forgot.
func TestHolds(t *testing.T) {
	applied := func(op, client, key, value string, mark int64) history.Event {
		return history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: op, Client: client, Key: key, Value: value, Scope: "/lock", Mark: fence.Token(mark)}
	}
	write := applied(history.OpWrite, "client1", "a", "1", 2)
	change := applied(history.OpChange, "client2", "", "", 4)
	change.Changes = []history.Change{{Key: "a", Value: "2"}, {Key: "b", Value: "2"}}
	gone := applied(history.OpDelete, "client2", "b", "", 4)
	refused := write
	refused.Kind = history.KindRefused
	kill := history.Event{Lane: history.LaneStorage, Kind: history.KindKill}
	final := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: "a", Value: "3"}
	events := []history.Event{write, change, refused, gone}
	memory := scenario.Storage{In: scenario.InProcess, Engine: scenario.EngineMemory}
	bolt := scenario.Storage{In: scenario.InProcess, Engine: scenario.EngineBolt}
	for name, c := range map[string]struct {
		events []history.Event
		of     scenario.Storage
		keys   []held
		marks  []mark
	}{
		"nothing":           {nil, memory, []held{}, []mark{}},
		"a change":          {events[:2], memory, []held{{"a", "2", "client2"}, {"b", "2", "client2"}}, []mark{{"/lock", 4}}},
		"refused, a delete": {events, memory, []held{{"a", "2", "client2"}}, []mark{{"/lock", 4}}},
		"killed":            {append(events, kill), memory, []held{}, []mark{}},
		"killed, synced":    {append(events, kill), bolt, []held{{"a", "2", "client2"}}, []mark{{"/lock", 4}}},
		"found at the end":  {append(events, final), memory, []held{{"a", "3", ""}}, []mark{{"/lock", 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, marks := holds(c.events, c.of)
			if diff := cmp.Diff([]any{c.keys, c.marks}, []any{keys, marks}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
