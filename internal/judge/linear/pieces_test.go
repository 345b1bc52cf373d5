package linear_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/anishathalye/porcupine"

	"github.com/fencelab/fencelab/internal/judge/linear"
)

// TestPieces: a history that is judged in pieces is judged as it would be whole.
func TestPieces(t *testing.T) {
	keys, verdicts := []string{"a", "b"}, make(map[bool]int)
	rapid.Check(t, func(t *rapid.T) {
		var ops []linear.Op
		now := int64(0)
		for n := range rapid.IntRange(1, 14).Draw(t, "operations") {
			now += rapid.Int64Range(0, 3).Draw(t, "later")
			op := linear.Op{Client: n, Call: now, Return: now + rapid.Int64Range(0, 4).Draw(t, "long")}
			op.Input = linear.Input{Scope: "/lock", Token: rapid.Int64Range(1, 2).Draw(t, "token"), Shared: rapid.Bool().Draw(t, "shared")}
			op.Output.Outcome = rapid.SampledFrom([]linear.Outcome{linear.Done, linear.Done, linear.Done, linear.Unknown, linear.Stale}).Draw(t, "outcome")
			op.Output.Mark = map[bool]int64{true: 2}[op.Output.Outcome == linear.Stale]
			key := rapid.SampledFrom(keys).Draw(t, "key")
			if rapid.Bool().Draw(t, "read") {
				op.Input.Kind, op.Input.Key = linear.Read, key
				op.Output.Value, op.Output.Bare = fmt.Sprint(rapid.IntRange(0, n).Draw(t, "found")), true
				if op.Output.Value == "0" && op.Output.Outcome == linear.Done {
					op.Output = linear.Output{Outcome: linear.NotFound}
				}
			} else {
				change := linear.Change{Key: key, Value: fmt.Sprint(n)}
				if rapid.IntRange(0, 3).Draw(t, "deletes") == 0 {
					change = linear.Change{Key: key, Delete: true}
				}
				op.Input.Kind, op.Input.Changes = linear.Batch, []linear.Change{change}
				if !op.Input.Shared {
					op.Input.Sequence = rapid.Int64Range(0, 2).Draw(t, "sequence")
				}
				if op.Input.Sequence != 0 && op.Output.Outcome == linear.Done && rapid.IntRange(0, 4).Draw(t, "duplicate") == 0 {
					op.Output.Outcome = linear.Duplicate
				}
			}
			ops = append(ops, op)
		}
		whole := linear.Whole(ops) == porcupine.Ok
		verdicts[whole]++
		if got := linear.Check(ops, 0) == linear.Linearizable; got != whole {
			t.Errorf("in pieces %v, as a whole %v", got, whole)
		}
	})
	t.Logf("linearizable %d, not %d", verdicts[true], verdicts[false])
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("linearizable %d, not %d: the test says nothing", verdicts[true], verdicts[false])
	}
}

// TestManyPieces: what is left of one piece is what the next one begins with.
func TestManyPieces(t *testing.T) {
	var ops []linear.Op
	for n := int64(0); n < 1000; n++ { // two at a time, on two keys
		ops = append(ops,
			at(10*n+1, 10*n+4, write(1+n, fmt.Sprintf("a=%d", n)), done),
			at(10*n+2, 10*n+3, read(0, "b"), map[bool]linear.Output{true: none, false: value(fmt.Sprint(n-1), n)}[n == 0]),
			at(10*n+5, 10*n+6, write(1+n, fmt.Sprintf("b=%d", n)), done))
	}
	if got := linear.Check(ops, 0); got != linear.Linearizable {
		t.Errorf("%v, want linearizable", got)
	}
	ops[len(ops)-2].Output.Value = "7"
	if got := linear.Check(ops, 0); got != linear.NotLinearizable {
		t.Errorf("%v, want not linearizable: the last read but one found an old value", got)
	}
}

// TestLastOfThree: which of three writes was the last is not known where one was
// under way all the time.
func TestLastOfThree(t *testing.T) {
	for _, last := range []string{"1", "3"} {
		ops := []linear.Op{
			at(1, 10, write(3, "a=1"), done), at(2, 3, write(3, "a=2"), done), at(5, 6, write(3, "a=3"), done),
			at(11, 12, read(0, "a"), value(last, 3)),
		}
		if got := linear.Check(ops, 0); got != linear.Linearizable {
			t.Errorf("%s was the last: %v, want linearizable", last, got)
		}
	}
}

// TestUnknownMark: whether a request of unknown outcome raised the mark is not known
// where another one's mark refuses it from then on.
func TestUnknownMark(t *testing.T) {
	shared := read(82, "a")
	shared.Shared = true
	for _, mark := range []int64{71, 74} {
		ops := []linear.Op{
			at(1, 2, write(71, "a=1"), done),
			at(3, 0, read(74, "a"), unknown),
			at(4, 6, shared, value("1", 71)),
			at(10, 11, linear.Input{Kind: linear.Mark, Scope: "/lock"}, linear.Output{Outcome: linear.Done, Mark: mark, Shared: 82}),
		}
		if got := linear.InPieces(ops); got != linear.Linearizable {
			t.Errorf("the mark is %d: %v, want linearizable", mark, got)
		}
	}
}
