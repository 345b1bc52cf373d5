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
	l := history.NewLedger()
	for _, e := range events {
		if e.Lane == history.LaneStorage && e.Kind == history.KindKill && of.Engine == scenario.EngineMemory && of.In == scenario.InProcess {
			l.Forget()
		}
		l.Take(e)
	}
	keys, marks = []held{}, []mark{}
	for _, key := range slices.Sorted(maps.Keys(l.Values)) {
		keys = append(keys, held{key, l.Values[key].Value, l.Values[key].Client})
	}
	for _, scope := range slices.Sorted(maps.Keys(l.Marks)) {
		marks = append(marks, mark{scope, l.Marks[scope]})
	}
	return keys, marks
}
