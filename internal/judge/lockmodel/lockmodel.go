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

// Lock is what the clients tell of one lock. Times are nanoseconds of the client's clock.
type Lock struct {
	Holds   []Hold
	Unlocks []Unlock
}

// Never is later than all times.
const Never = 1 << 61

// Hold is a client's time with the lock, by the client's word.
//
// The grant happened between Asked and Told. A request for the lock whose outcome is unknown is no Hold: it can
// always have been granted after all others. From Over on the hold can have ended without an Unlock: the client was
// told that the hold is over, or the lease that was last known to be renewed has run out; Never if neither is known.
type Hold struct {
	Client string // whose clock it is
	Name   string // two holds of one name are one: clients that share a session
	Shared bool
	Token  int64 // 0: none
	Asked  int64
	Told   int64
	Over   int64
}

// Unlock is a client's request to end its hold. It was done between Asked and Told, if at all. Some services do not look
// whose hold it is: if the client has none any more, the unlock ends all others.
type Unlock struct {
	Client string
	Asked  int64
	Told   int64
	Failed bool // it ended nothing, by the service's word
}

// Answer is whether a law was kept.
type Answer string

const (
	Yes       Answer = "yes"
	No        Answer = "no"
	Undecided Answer = "undecided"
)

// Law is what a lock promises.
type Law struct {
	model porcupine.Model
	// Where no clock says which hold of two clients came first: whether a hold can break the law at all.
	matters func(h Hold, of Lock) bool
}

var (
	// Exclusive: no hold began while another one lasted, unless both are shared.
	Exclusive = Law{porcupine.Model{
		Init:  func() any { return holders{} },
		Step:  func(state, input, _ any) (bool, any) { return state.(holders).step(input.(step)) },
		Equal: func(a, b any) bool { return slices.Equal(a.(holders), b.(holders)) },
	}, Hold.staysOpen}
	// Ordered: tokens grew in the order of the grants.
	Ordered = Law{porcupine.Model{
		Init: func() any { return Hold{} },
		Step: func(state, input, _ any) (bool, any) {
			last, s := state.(Hold), input.(step)
			if s.what != begins || s.Token == 0 {
				return true, state
			}
			return s.Token > last.Token || s.Name == last.Name, s.Hold
		},
	}, Hold.isTwin}
)

// staysOpen reports whether at most an unlock ends the hold. Any other can have ended before all of other clients began.
func (h Hold) staysOpen(Lock) bool { return h.Over == Never }

// isTwin reports whether another hold has the same token. Holds without one can have come in the order of their tokens.
func (h Hold) isTwin(of Lock) bool {
	twin := func(o Hold) bool { return o.Token == h.Token && o.Name != h.Name }
	return h.Token != 0 && slices.ContainsFunc(of.Holds, twin)
}

// step is the beginning of a hold, or an end.
type step struct {
	Hold
	what stepKind
}

type stepKind int

const (
	begins  stepKind = iota
	ends             // without an unlock
	unlocks          // the client's hold, and no other
	strays           // an unlock of the client's hold, or, without one, of all others
)

// holders are those who have the lock, in the order of their names.
type holders []step

func (h holders) step(s step) (bool, any) {
	is := func(o step) bool { return o.Name == s.Name }
	if s.what == unlocks || s.what == strays {
		is = func(o step) bool { return o.Client == s.Client }
	}
	others := slices.DeleteFunc(slices.Clone(h), is)
	switch {
	case s.what == strays && len(others) == len(h):
		return true, holders{}
	case s.what != begins:
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

// part is what is judged together: the holds of all clients, or those of one, which have one clock.
type part struct {
	client string // "": all
	skew   int64  // by which the clocks of two clients differ at most
	within time.Duration
}

// wider is by how much the intervals of a client are wider on both sides.
func (p part) wider(client string) int64 {
	switch p.client {
	case "":
		return p.skew / 2
	case client:
		return 0
	}
	return p.skew
}

// operations are what porcupine puts in an order. An end that can have come early did: that allows all that a later end
// allows. Only a stray unlock can do harm when it comes early.
func (p part) operations(holds []Hold, all, stray []Unlock) (ops []porcupine.Operation) {
	add := func(s step, call, back int64) {
		ops = append(ops, porcupine.Operation{ClientId: len(ops), Input: s, Call: call, Return: back})
	}
	for _, h := range holds {
		wider := p.wider(h.Client)
		asked, told, over := h.Asked-wider, h.Told+wider, h.Over-wider
		add(step{h, begins}, asked, told)
		add(step{h, ends}, over, max(over, told))
	}
	for _, u := range all {
		wider := p.wider(u.Client)
		s := step{Hold{Client: u.Client}, unlocks}
		if slices.Contains(stray, u) {
			s.what = strays
			add(s, u.Asked-wider, u.Told+wider)
		} else {
			add(s, u.Asked-wider, u.Asked-wider)
		}
	}
	return ops
}

func (l Law) check(p part, holds []Hold, all, stray []Unlock) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(l.model, p.operations(holds, all, stray), p.within)
}

// Check says whether the holds of a lock can be in such an order that the law is kept. If they cannot, because has holds
// that are enough to show it: without any one of them there is an order, as far as the time allows to see. If an order
// needs that unlocks ended other clients' holds, the answer is Undecided, and because has the fewest such unlocks, too.
//
// Holds of one client have one clock, and are also judged by themselves. The clocks of two clients differ by skew at
// most; below 0 that is not known.
func (l Law) Check(of Lock, skew time.Duration, within time.Duration) (answer Answer, because Lock) {
	answer = Yes
	known := skew >= 0
	if !known {
		skew = Never / 2
	}
	holds := slices.SortedStableFunc(slices.Values(of.Holds), func(a, b Hold) int { return cmp.Compare(a.Told, b.Told) })
	all := slices.SortedStableFunc(slices.Values(of.Unlocks), func(a, b Unlock) int { return cmp.Compare(a.Asked, b.Asked) })
	failed := func(u Unlock) bool { return u.Failed }
	for _, client := range append([]string{""}, clients(holds)...) {
		p := part{client, int64(skew), within}
		theirs := slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool {
			if client == "" {
				return !known && !l.matters(h, of)
			}
			return h.Client != client
		})
		switch l.check(p, theirs, all, nil) {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			answer = Undecided
			continue
		}
		broken := fewest(theirs, func(holds []Hold) bool { return l.check(p, holds, all, nil) == porcupine.Illegal })
		explained := func(stray []Unlock) bool { return l.check(p, theirs, all, stray) == porcupine.Ok }
		stray := slices.DeleteFunc(slices.Clone(all), failed)
		if !explained(stray) {
			return No, Lock{Holds: broken}
		}
		answer = Undecided
		if len(because.Holds) == 0 {
			because = Lock{broken, fewest(stray, explained)}
		}
	}
	return answer, because
}

func clients(holds []Hold) (names []string) {
	for _, h := range holds {
		names = append(names, h.Client)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fewest leaves out what is not needed for the list to be enough: first all that comes later, then all that comes
// earlier, then each of the rest.
func fewest[T any](list []T, enough func([]T) bool) []T {
	list = list[:sort.Search(len(list), func(n int) bool { return enough(list[:n]) })]
	list = list[max(0, sort.Search(len(list), func(n int) bool { return !enough(list[n:]) })-1):]
	for i := len(list) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(list), i, i+1); enough(fewer) {
			list = fewer
		}
	}
	return list
}
