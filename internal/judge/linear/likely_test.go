package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// lossy makes the history of a storage that does all that it should, one operation after
// the other, and of whose answers every fifth is lost. Half of what has no answer was
// never done, and some of the rest is done later.
func lossy(rand *rand.Rand, n int) (ops []Op) {
	var state scope
	var late []Op
	for i := range n {
		op := Op{Client: i % 16, Call: int64(10 * i), Return: int64(10*i + 5)}
		op.Input = Input{Kind: Read, Scope: "/lock", Key: fmt.Sprint("k", rand.IntN(3)), Token: max(1, state.mark+rand.Int64N(4)-1)}
		if i%3 > 0 {
			change := Change{Key: op.Input.Key, Value: fmt.Sprint(i), Delete: rand.IntN(4) == 0}
			if change.Delete {
				change.Value = ""
			}
			op.Input.Kind, op.Input.Key, op.Input.Changes = Batch, "", []Change{change}
		}
		if lost := rand.IntN(5) == 0; lost {
			op.Output.Outcome = Unknown
			switch rand.IntN(4) {
			case 0:
				late = append(late, op)
			case 1:
				_, state = state.step(op.Input, op.Output)
			}
			ops = append(ops, op)
			continue
		}
		if len(late) > 0 && rand.IntN(3) == 0 {
			_, state = state.step(late[0].Input, late[0].Output)
			late = late[1:]
		}
		op.Output = state.answer(op.Input)
		_, state = state.step(op.Input, op.Output)
		ops = append(ops, op)
	}
	return ops
}

// answer is what a storage in that state answers.
func (s scope) answer(in Input) Output {
	out := Output{Outcome: s.judge(in)}
	found, ok := s.items[in.Key]
	switch {
	case out.Outcome == Stale:
		out.Mark = s.refusing(in)
	case out.Outcome == Done && in.Kind == Read && ok:
		out.Value, out.Token = found.value, found.token
	case out.Outcome == Done && in.Kind == Read:
		out.Outcome = NotFound
	}
	return out
}

// TestManyUnknown: where many outcomes are unknown, those that an answer gives away
// suffice for an order in most histories, of which these are some, and it is found.
func TestManyUnknown(t *testing.T) {
	for _, seed := range []uint64{2, 3, 4, 5, 6, 7, 8} {
		ops := lossy(rand.New(rand.NewPCG(seed, 0)), 3000)
		if got := Check(ops, time.Minute); got != Linearizable {
			t.Errorf("seed %d: %s", seed, got)
		}
	}
}

// TestUndecidedPiece: where the time is over, the piece is one of the whole history.
func TestUndecidedPiece(t *testing.T) {
	set := func(value string) Input {
		return Input{Kind: Write, Scope: "/lock", Token: 1, Changes: []Change{{Key: "a", Value: value}}}
	}
	history := operations([]Op{
		{Client: 1, Call: 1, Return: 4, Input: set("1"), Output: Output{Outcome: Done}},
		{Client: 2, Call: 2, Return: 3, Input: set("2"), Output: Output{Outcome: Done}},
		{Client: 3, Call: 5, Input: set("3"), Output: Output{Outcome: Unknown}}, // which is not likely
	})
	if verdict, p := check(history, time.Now()); verdict != Undecided || len(p.ops) != len(history) {
		t.Errorf("%s, of a piece of %d operations, want %s, of %d", verdict, len(p.ops), Undecided, len(history))
	}
}

// TestUnknownDelete: that a key was missed gives away a delete that was sent before, where
// nothing else that is known explains it.
func TestUnknownDelete(t *testing.T) {
	change := func(call, ret int64, outcome Outcome, deletes bool) Op {
		in := Input{Kind: Write, Scope: "/lock", Token: 1, Changes: []Change{{Key: "a", Delete: deletes}}}
		return Op{Client: int(call), Call: call, Return: ret, Input: in, Output: Output{Outcome: outcome}}
	}
	missed := func(call, ret int64) Op {
		return Op{Client: int(call), Call: call, Return: ret, Input: Input{Kind: Read, Scope: "/lock", Key: "a"}, Output: Output{Outcome: NotFound}}
	}
	for name, tt := range map[string]struct {
		known []Op
		want  int64 // by when the delete of the time 20 happened
	}{
		"missed":                        {[]Op{change(1, 2, Done, false), missed(21, 22)}, 22},
		"missed before it was sent":     {[]Op{change(1, 2, Done, false), missed(3, 4)}, math.MaxInt64},
		"and after":                     {[]Op{change(1, 2, Done, false), missed(3, 4), change(5, 6, Done, false), missed(21, 22)}, 22},
		"missed twice":                  {[]Op{change(1, 2, Done, false), missed(21, 22), change(23, 24, Done, false), missed(25, 26)}, 22},
		"the key was never there":       {[]Op{missed(21, 22)}, math.MaxInt64},
		"deleted before":                {[]Op{change(1, 2, Done, false), change(3, 4, Done, true), missed(21, 22)}, math.MaxInt64},
		"deleted last, as far as known": {[]Op{change(1, 8, Done, true), change(3, 4, Done, false), missed(21, 22)}, math.MaxInt64},
		"written while it was read":     {[]Op{change(21, 23, Done, false), missed(22, 24)}, math.MaxInt64},
	} {
		lost := change(20, 0, Unknown, true)
		ops := operations(append(tt.known, lost))
		if got := newNews(ops).until(ops[len(tt.known)]); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestUnknownMark: that a mark was told gives away all that could have raised it, unless another
// one that was admitted by that token was over before. One that was under way may have come later.
func TestUnknownMark(t *testing.T) {
	ask := func(call, ret int64, token int64, out Output) Op {
		in := Input{Kind: Read, Scope: "/lock", Token: token, Key: "a"}
		return Op{Client: int(call), Call: call, Return: ret, Input: in, Output: out}
	}
	done, lost := Output{Outcome: NotFound}, Output{Outcome: Unknown}
	refused := ask(25, 30, 1, Output{Outcome: Stale, Mark: 2})
	for name, tt := range map[string]struct {
		known []Op
		want  int64 // by when the read of the time 20 happened
	}{
		"none was told":              {nil, math.MaxInt64},
		"told":                       {[]Op{refused}, 30},
		"told before it was sent":    {[]Op{ask(11, 15, 1, Output{Outcome: Stale, Mark: 2})}, math.MaxInt64},
		"another one was over":       {[]Op{ask(21, 24, 2, done), refused}, math.MaxInt64},
		"another one was under way":  {[]Op{ask(21, 40, 2, done), refused}, 30},
		"another one was sent later": {[]Op{refused, ask(31, 40, 2, done)}, 30},
		"another one was lost":       {[]Op{ask(19, 0, 2, lost), refused}, 30},
	} {
		ops := operations(append(tt.known, ask(20, 0, 2, lost)))
		if got := newNews(ops).until(ops[len(tt.known)]); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
