package serve

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/pkg/fence"
)

// held is a key of the storage.
type held struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Client string `json:"client,omitempty"` // that wrote it; "": it was read at the end
}

// mark is that of a scope.
type mark struct {
	Scope string      `json:"scope"`
	Mark  fence.Token `json:"mark,string"`
}

// holds says what the storage holds after events, by its own account.
func holds(events []history.Event, of scenario.Storage) (keys []held, marks []mark) {
	values, highest := make(map[string]held), make(map[string]fence.Token)
	put := func(e history.Event, key, value string) { values[key] = held{key, value, e.Client} }
	for _, e := range events {
		if e.Lane != history.LaneStorage {
			continue
		}
		switch {
		case e.Kind == history.KindKill && of.Engine == scenario.EngineMemory && of.In == scenario.InProcess:
			clear(values)
			clear(highest)
		case e.Kind == history.KindFinal && e.Missing, e.Kind == history.KindApplied && e.Op == history.OpDelete:
			delete(values, e.Key)
		case e.Kind == history.KindFinal && values[e.Key].Value != e.Value, e.Kind == history.KindApplied && e.Op == history.OpWrite:
			put(e, e.Key, e.Value)
		case e.Kind == history.KindApplied && e.Op == history.OpChange:
			for _, c := range e.Changes {
				put(e, c.Key, c.Value)
			}
		}
		if e.Kind == history.KindApplied && e.Mark > 0 {
			highest[e.Scope] = e.Mark
		}
	}
	keys, marks = []held{}, []mark{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		keys = append(keys, values[key])
	}
	for _, scope := range slices.Sorted(maps.Keys(highest)) {
		marks = append(marks, mark{scope, highest[scope]})
	}
	return keys, marks
}
