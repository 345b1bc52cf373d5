// Package lockmodel judges a lock service by its clients' accounts alone: from what each client asked, was told, and
// when, whether there is one order of all grants and ends in which the lock was exclusive, or its tokens grew. This
// is what Jepsen asks of locks.
//
// The package knows nothing of other accounts, and takes no rule from package fence.
package lockmodel

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Hold is a client's time with a lock, by the client's word. Times are nanoseconds of the client's clock.
//
// The grant happened between Asked and Told. A request for the lock whose outcome is unknown is no Hold: it can
// always have been granted after all others. From Over on the hold can have ended: the client asked for the unlock,
// was told that the hold is over, or the lease that was last known to be renewed has run out.
type Hold struct {
	Client string // whose clock it is
	Name   string // two holds of one name are one: clients that share a session
	Shared bool
	Token  int64 // 0: none
	Asked  int64
	Told   int64
	Over   int64
}

// Answer is whether a law was kept.
type Answer string

const (
	Yes       Answer = "yes"
	No        Answer = "no"
	Undecided Answer = "undecided"
)

// Law is what a lock promises.
type Law struct{ model porcupine.Model }

var (
	// Exclusive: no hold began while another one lasted, unless both are shared.
	Exclusive = Law{porcupine.Model{
		Init:  func() any { return holders{} },
		Step:  func(state, input, _ any) (bool, any) { return state.(holders).step(input.(step)) },
		Equal: func(a, b any) bool { return slices.Equal(a.(holders), b.(holders)) },
	}}
	// Ordered: tokens grew in the order of the grants.
	Ordered = Law{porcupine.Model{
		Init: func() any { return Hold{} },
		Step: func(state, input, _ any) (bool, any) {
			last, s := state.(Hold), input.(step)
			if s.ends || s.Token == 0 {
				return true, state
			}
			return s.Token > last.Token || s.Name == last.Name, s.Hold
		},
	}}
)

// step is the beginning of a hold, or its end.
type step struct {
	Hold
	ends bool
}

// holders are those who have the lock, in the order of their names.
type holders []step

func (h holders) step(s step) (bool, any) {
	others := slices.DeleteFunc(slices.Clone(h), func(o step) bool { return o.Name == s.Name })
	if s.ends {
		return true, others
	}
	for _, o := range others {
		if !o.Shared || !s.Shared {
			return false, h
		}
	}
	others = append(others, s)
	slices.SortFunc(others, func(a, b step) int { return strings.Compare(a.Name, b.Name) })
	return true, others
}

// operations are what porcupine puts in an order. The clocks of two clients differ by skew at most, so each interval
// is wider by half of it on both sides. An end that can have come early did: that allows all that a later end allows.
func operations(holds []Hold, skew int64) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, h := range holds {
		asked, told, over := h.Asked-skew/2, h.Told+skew/2, h.Over-skew/2
		ops = append(ops,
			porcupine.Operation{ClientId: 2 * i, Input: step{h, false}, Call: asked, Return: told},
			porcupine.Operation{ClientId: 2*i + 1, Input: step{h, true}, Call: over, Return: max(over, told)})
	}
	return ops
}

func (l Law) check(holds []Hold, skew int64, within time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(l.model, operations(holds, skew), within)
}

// Check says whether the holds of one lock can be in such an order that the law is kept. If they cannot, the holds that
// it returns are enough to show it: without any one of them there is an order, as far as the time allows to see.
//
// Holds of one client have one clock, and are also judged by themselves.
func (l Law) Check(holds []Hold, skew time.Duration, within time.Duration) (Answer, []Hold) {
	answer := Yes
	parts := [][]Hold{holds}
	gap := []int64{int64(skew)}
	for _, client := range clients(holds) {
		parts, gap = append(parts, slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return h.Client != client })), append(gap, 0)
	}
	for i, part := range parts {
		switch l.check(part, gap[i], within) {
		case porcupine.Illegal:
			return No, l.smallest(part, gap[i], within)
		case porcupine.Unknown:
			answer = Undecided
		}
	}
	return answer, nil
}

func clients(holds []Hold) (names []string) {
	for _, h := range holds {
		names = append(names, h.Client)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// smallest leaves out what is not needed to break the law: first all that comes later, then all that comes earlier,
// then each of the rest.
func (l Law) smallest(holds []Hold, skew int64, within time.Duration) []Hold {
	broken := func(holds []Hold) bool { return l.check(holds, skew, within) == porcupine.Illegal }
	holds = slices.SortedStableFunc(slices.Values(holds), func(a, b Hold) int { return cmp.Compare(a.Told, b.Told) })
	holds = holds[:sort.Search(len(holds), func(n int) bool { return broken(holds[:n]) })]
	holds = holds[sort.Search(len(holds), func(n int) bool { return !broken(holds[n:]) })-1:]
	for i := len(holds) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(holds), i, i+1); broken(fewer) {
			holds = fewer
		}
	}
	return holds
}
