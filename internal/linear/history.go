package linear

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"
)

// operations are those of a history that are to be put in an order.
//
// One with an unknown outcome never returned. But once a later token is known to
// have been admitted it can do nothing any more, so it is as good as over: where
// an order exists with it at a later place, one exists with it here. Without
// this bound each would be a candidate at every place to the end, and a check
// would take twice as long with each of them. For the same reason those that
// change nothing in any case are left out.
func operations(history []Op) []porcupine.Operation {
	marks := knownMarks(history)
	list := make([]porcupine.Operation, 0, len(history))
	for _, op := range history {
		end := op.Return
		if op.Output.Outcome == Unknown {
			if op.Input.Token <= 0 || op.Input.Sequence < 0 || op.Input.Kind == Mark {
				continue
			}
			end = max(op.Call, marks[op.Input.Scope].above(op.Input.Token))
		}
		list = append(list, porcupine.Operation{
			ClientId: op.Client, Input: op.Input, Call: op.Call, Output: op.Output, Return: end,
		})
	}
	return list
}

// known is from when on a mark is known to be that high, or higher.
type known struct{ at, mark int64 }

// ladder is a scope's known marks, rising in both.
type ladder []known

// above is from when on the mark is known to be above a token: never, of the
// highest that there is.
func (l ladder) above(token int64) int64 {
	i := sort.Search(len(l), func(i int) bool { return l[i].mark > token })
	if i == len(l) {
		return math.MaxInt64
	}
	return l[i].at
}

func knownMarks(history []Op) map[string]ladder {
	byReturn := slices.SortedStableFunc(slices.Values(history), func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	marks := make(map[string]ladder)
	for _, op := range byReturn {
		mark := max(op.Output.Mark, op.Output.Token)
		switch op.Output.Outcome {
		case Unknown:
			continue
		case Done, NotFound, Duplicate:
			mark = max(mark, op.Input.Token)
		}
		l := marks[op.Input.Scope]
		if len(l) == 0 || l[len(l)-1].mark < mark {
			marks[op.Input.Scope] = append(l, known{op.Return, mark})
		}
	}
	return marks
}

// Save writes a history as JSON lines.
func Save(w io.Writer, history []Op) error {
	enc := json.NewEncoder(w)
	for _, op := range history {
		if err := enc.Encode(op); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// Load reads what Save wrote. An error names the operation.
func Load(r io.Reader) ([]Op, error) {
	var history []Op
	for dec := json.NewDecoder(r); ; {
		var op Op
		switch err := dec.Decode(&op); {
		case errors.Is(err, io.EOF):
			return history, nil
		case err != nil:
			return nil, fmt.Errorf("history: operation %d: %w", len(history)+1, err)
		}
		history = append(history, op)
	}
}
