package linear

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// porcupine takes time and memory that grow with the square of a history. So each scope's history is cut
// where nothing is under way, and what is stored is known whatever the order was.

// longest is how many operations a piece may have if another one follows: that begins with the end of the
// order that was found, and telling it costs most where there are many.
const longest = 100

// piece is a part of a scope's history, and the state in which it begins.
type piece struct {
	ops   []porcupine.Operation
	state scope
}

const firstTry = 2 * time.Second

// check judges a scope's history. It returns the piece that cannot be put in an order, or
// of which that is not known by the deadline.
//
// An order of the likely history is looked for, and one of the whole, in turns that grow:
// each may take for ever where another one is found at once. The whole history comes last
// in each turn, and the ways before leave it its share of the time.
func check(history []porcupine.Operation, deadline time.Time) (Verdict, piece) {
	n := newNews(history)
	whole := n.certain(history)
	ways := [][]porcupine.Operation{n.likely(whole, true), n.likely(whole, false), whole}
	if len(ways[0]) == len(whole) {
		return inPieces(whole, deadline)
	}
	for turn := firstTry; ; turn *= 2 {
		for i, way := range ways {
			verdict, p := inPieces(way, endOf(turn, deadline, len(ways)-i))
			isWhole := i == len(ways)-1
			switch {
			case verdict == Linearizable, verdict == NotLinearizable && isWhole:
				return verdict, p
			case isWhole && !deadline.IsZero() && !time.Now().Before(deadline):
				return Undecided, p
			}
		}
	}
}

// endOf is when a way's turn is over. Each of the ways that are left has its share of the time.
func endOf(turn time.Duration, deadline time.Time, ways int) time.Time {
	if !deadline.IsZero() {
		turn = min(turn, time.Until(deadline)/time.Duration(ways))
	}
	return time.Now().Add(turn)
}

func inPieces(history []porcupine.Operation, deadline time.Time) (Verdict, piece) {
	state := scope{}
	for ops := range pieces(history) {
		p := piece{ops, state}
		verdict, after := p.check(deadline, len(ops) <= longest)
		if verdict != Linearizable {
			return verdict, p
		}
		state = after
	}
	return Linearizable, piece{}
}

func pieces(history []porcupine.Operation) func(yield func([]porcupine.Operation) bool) {
	ops := slices.Clone(history)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return func(yield func([]porcupine.Operation) bool) {
		from, busy := 0, int64(-1<<63)
		last, marks := make(map[string]changed), heights{}
		for i, op := range ops {
			busy = max(busy, op.Return)
			note(last, op)
			marks.note(op)
			end := i == len(ops)-1
			cut := !end && busy < ops[i+1].Call && i+1-from <= longest && settled(last) && marks.settled()
			if !end && !cut {
				continue
			}
			if !yield(ops[from : i+1]) {
				return
			}
			from = i + 1
			clear(last)
		}
	}
}

type changed struct {
	until   int64 // when the last of its changes is over
	settled bool  // one came after all others, and it was done
}

func note(last map[string]changed, op porcupine.Operation) {
	outcome := op.Output.(Output).Outcome
	if outcome != Done && outcome != Unknown {
		return
	}
	for _, c := range op.Input.(Input).Changes {
		before, known := last[c.Key]
		alone := !known || before.until < op.Call
		last[c.Key] = changed{max(before.until, op.Return), alone && outcome == Done}
	}
}

// heights are the highest marks that were admitted, and from which ones on unknown outcomes do not matter.
type heights struct{ exclusive, shared, sureExclusive, sureShared int64 }

func (h *heights) note(op porcupine.Operation) {
	in := op.Input.(Input)
	switch outcome := op.Output.(Output).Outcome; {
	case outcome == Unknown && in.Shared:
		h.sureShared = max(h.sureShared, in.Token)
	case outcome == Unknown && in.Sequence > 0: // it may have raised the sequence of its tenure
		h.sureExclusive = max(h.sureExclusive, in.Token+1)
	case outcome == Unknown:
		h.sureExclusive = max(h.sureExclusive, in.Token)
	case outcome != Done && outcome != NotFound && outcome != Duplicate:
	case in.Shared:
		h.shared = max(h.shared, in.Token)
	default:
		h.exclusive = max(h.exclusive, in.Token)
	}
}

// settled reports whether the marks are the same whatever became of those.
func (h *heights) settled() bool {
	return h.exclusive >= h.sureExclusive && max(h.exclusive, h.shared) >= h.sureShared
}

// settled reports whether it is known of each key which change was the last.
func settled(last map[string]changed) bool {
	for _, c := range last {
		if !c.settled {
			return false
		}
	}
	return true
}

// check judges a piece, and, where that is wanted, says in which state it ends.
func (p piece) check(deadline time.Time, wanted bool) (Verdict, scope) {
	if len(p.ops) == 1 {
		ok, after := p.state.step(p.ops[0].Input.(Input), p.ops[0].Output.(Output))
		if !ok {
			return NotLinearizable, scope{}
		}
		return Linearizable, after
	}
	var within time.Duration // 0: for ever
	if !deadline.IsZero() {
		if within = time.Until(deadline); within <= 0 {
			return Undecided, scope{}
		}
	}
	if !wanted {
		return porcupine.CheckOperationsTimeout(p.model(), p.ops, within), scope{}
	}
	verdict, info := porcupine.CheckOperationsVerbose(p.model(), p.ops, within)
	if verdict != Linearizable {
		return verdict, scope{}
	}
	state := p.state
	if len(p.ops) > 0 {
		for _, op := range info.PartialLinearizationsOperations()[0][0] { // all of them are whole
			_, state = state.step(op.Input.(Input), op.Output.(Output))
		}
	}
	return Linearizable, state
}

func (p piece) model() porcupine.Model {
	m := model
	m.Partition = nil
	m.Init = func() any { return p.state }
	return m
}
