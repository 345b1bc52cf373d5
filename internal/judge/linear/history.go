package linear

import (
	"cmp"
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
	marks := findMarks(history)
	list := make([]porcupine.Operation, 0, len(history))
	for _, op := range history {
		end := op.Return
		if op.Output.Outcome == Unknown {
			if op.Input.Token <= 0 || op.Input.Sequence < 0 || op.Input.Kind == Mark {
				continue
			}
			end = max(op.Call, marks[op.Input.Scope].refuses(op.Input))
		}
		list = append(list, porcupine.Operation{
			ClientId: op.Client, Input: op.Input, Call: op.Call, Output: op.Output, Return: end,
		})
	}
	return list
}

// knownMarks are from when a scope's marks are known to be how high: either mode's, and the exclusive.
type knownMarks struct{ either, exclusive ladder }

func (k *knownMarks) refuses(in Input) int64 {
	switch {
	case k == nil:
		return math.MaxInt64
	case in.Shared:
		return k.exclusive.above(in.Token)
	}
	return k.either.above(in.Token)
}

func (k *knownMarks) note(op Op) {
	in, out := op.Input, op.Output
	either, exclusive := max(out.Mark, out.Shared, out.Token), int64(0)
	if in.Shared || in.Kind == Mark {
		exclusive = out.Mark // which refused, or was told
	}
	switch out.Outcome {
	case Unknown:
		return
	case Done, NotFound, Duplicate:
		either = max(either, in.Token)
		if !in.Shared {
			exclusive = max(exclusive, in.Token)
		}
	}
	k.either.rise(op.Return, either)
	k.exclusive.rise(op.Return, exclusive)
}

// known is from when on a mark is known to be that high, or higher.
type known struct{ at, mark int64 }

// ladder is a scope's known marks, rising in both.
type ladder []known

// above is from when on the mark is known to be above a token: never, of the highest that there is.
func (l ladder) above(token int64) int64 {
	i := sort.Search(len(l), func(i int) bool { return l[i].mark > token })
	if i == len(l) {
		return math.MaxInt64
	}
	return l[i].at
}

func (l *ladder) rise(at, mark int64) {
	if n := len(*l); n == 0 || (*l)[n-1].mark < mark {
		*l = append(*l, known{at, mark})
	}
}

func findMarks(history []Op) map[string]*knownMarks {
	byReturn := slices.SortedStableFunc(slices.Values(history), func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	marks := make(map[string]*knownMarks)
	for _, op := range byReturn {
		if marks[op.Input.Scope] == nil {
			marks[op.Input.Scope] = new(knownMarks)
		}
		marks[op.Input.Scope].note(op)
	}
	return marks
}
