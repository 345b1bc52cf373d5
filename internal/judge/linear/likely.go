package linear

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// certain ends an operation of unknown outcome when what it alone wrote was first read. That is no guess.
func (n *news) certain(ops []porcupine.Operation) []porcupine.Operation {
	writers := make(map[value]int)
	for _, op := range ops {
		for _, c := range op.Input.(Input).Changes {
			writers[value{c.Key, c.Value}]++
		}
	}
	list := slices.Clone(ops)
	for i, op := range list {
		for _, c := range op.Input.(Input).Changes {
			if v := (value{c.Key, c.Value}); unknown(op) && !c.Delete && writers[v] == 1 {
				list[i].Return = min(list[i].Return, n.seen(v, op.Call))
			}
		}
	}
	return list
}

// likely is a scope's history as it most likely was. An operation of an unknown outcome
// that an answer gives away happened, and the others never did. Each of them is else a
// candidate at every place after its call, to the end. early says that it happened before
// that answer came, also where another operation could be what the answer gives away.
//
// An order of this history is one of the whole history: operations are left out that may
// never have happened, and others have less time. Where there is no such order nothing is
// known.
func (n *news) likely(ops []porcupine.Operation, early bool) []porcupine.Operation {
	var list []porcupine.Operation
	for _, op := range ops {
		if unknown(op) {
			until := n.until(op)
			if until == math.MaxInt64 {
				continue
			}
			if early {
				op.Return = min(op.Return, until)
			}
		}
		list = append(list, op)
	}
	return list
}

func unknown(op porcupine.Operation) bool { return op.Output.(Output).Outcome == Unknown }

type value struct{ key, value string }

// turn is a request's place in the order of a tenure.
type turn struct{ token, sequence int64 }

// news are what answers give away of operations, and when the first such answer came.
type news struct {
	read  map[value]int64
	turns map[turn]int64  // that were told with a mark, or as done before
	marks map[int64]int64 // tokens that were told as marks

	known    map[turn]int64                   // the first call of a turn that was done
	admitted map[int64]int64                  // when the first that was admitted by a token was over
	changes  map[string][]change              // by key
	missed   map[string][]porcupine.Operation // reads that did not find a key that was there by all that is known
}

// change is what is known of a key when an operation was over: it had a value, or was missing.
type change struct {
	over    int64
	missing bool
}

func newNews(ops []porcupine.Operation) *news {
	n := &news{
		read: make(map[value]int64), turns: make(map[turn]int64), marks: make(map[int64]int64),
		known: make(map[turn]int64), admitted: make(map[int64]int64),
		changes: make(map[string][]change), missed: make(map[string][]porcupine.Operation),
	}
	for _, op := range ops {
		n.take(op)
	}
	for key, reads := range n.missed {
		n.missed[key] = slices.DeleteFunc(reads, func(read porcupine.Operation) bool { return !n.wasThere(key, read.Call) })
	}
	return n
}

func earlier[K comparable](times map[K]int64, key K, at int64) {
	if known, ok := times[key]; !ok || at < known {
		times[key] = at
	}
}

func (n *news) take(op porcupine.Operation) {
	in, out := op.Input.(Input), op.Output.(Output)
	for _, mark := range []int64{out.Mark, out.Shared} {
		if mark != 0 {
			earlier(n.marks, mark, op.Return)
			earlier(n.turns, turn{mark, out.Sequence}, op.Return)
		}
	}
	switch out.Outcome {
	case Unknown:
		return
	case Done:
		if in.Kind == Read {
			earlier(n.read, value{in.Key, out.Value}, op.Return)
			n.changes[in.Key] = append(n.changes[in.Key], change{op.Return, false})
		}
		earlier(n.known, turn{in.Token, in.Sequence}, op.Call)
		for _, c := range in.Changes {
			n.changes[c.Key] = append(n.changes[c.Key], change{op.Return, c.Delete})
		}
	case NotFound:
		n.missed[in.Key] = append(n.missed[in.Key], op)
		n.changes[in.Key] = append(n.changes[in.Key], change{op.Return, true})
	case Duplicate:
		earlier(n.turns, turn{in.Token, in.Sequence}, op.Return)
	default:
		return
	}
	earlier(n.admitted, in.Token, op.Return)
}

// until is by when an operation of unknown outcome has happened; without an answer the highest time.
func (n *news) until(op porcupine.Operation) int64 {
	in := op.Input.(Input)
	until := int64(math.MaxInt64)
	noticed := func(at int64) {
		if at > op.Call {
			until = min(until, at)
		}
	}
	for _, c := range in.Changes {
		if c.Delete {
			noticed(n.vanished(c.Key, op.Call))
		} else {
			noticed(n.seen(value{c.Key, c.Value}, op.Call))
		}
	}
	own := turn{in.Token, in.Sequence}
	if at, ok := n.turns[own]; ok && in.Sequence != 0 && !before(n.known, own, at) {
		noticed(at)
	}
	if at, ok := n.marks[in.Token]; ok && !before(n.admitted, in.Token, at) {
		noticed(at)
	}
	return until
}

// seen is when a value was first read, if that was after a time; else the highest time.
func (n *news) seen(v value, after int64) int64 {
	if at, ok := n.read[v]; ok && at > after {
		return at
	}
	return math.MaxInt64
}

// before reports whether there is a time of the key that is before another one.
func before[K comparable](times map[K]int64, key K, at int64) bool {
	known, ok := times[key]
	return ok && known < at
}

// vanished is when a key was first missed after a time; else the highest time.
func (n *news) vanished(key string, after int64) int64 {
	first := int64(math.MaxInt64)
	for _, read := range n.missed[key] {
		if read.Return > after {
			first = min(first, read.Return)
		}
	}
	return first
}

// wasThere reports whether a key was there by the last that is known of it at a time.
func (n *news) wasThere(key string, at int64) bool {
	last := change{over: math.MinInt64, missing: true}
	for _, c := range n.changes[key] {
		if c.over < at && c.over > last.over {
			last = c
		}
	}
	return !last.missing
}
