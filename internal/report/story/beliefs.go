package story

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// Belief is a tenure by two accounts. Where Believed goes on after Held is over,
// the client may write over what a later holder wrote.
type Belief struct {
	Client   string // its lane
	Tenure   int    // which grant it is, from 1, as in Row.Tenure; 0: it was never granted
	Held     Span   // by the lock service's account
	Believed Span   // by the client's own

	scope string
}

// Span is a part of a history: from the event at the place From on, up to the one
// before the place To.
type Span struct{ From, To int }

// Has reports whether the event at a place is in s.
func (s Span) Has(place int) bool { return s.From <= place && place < s.To }

// Beliefs returns for each tenure, and each client that took it for its own, when
// it was held and when the client believed so, in the order in which they began.
// What is not over ends after the last event.
//
// A client believes that it holds the lock from the moment at which it is told so,
// or sends a request under the tenure, until it lets go, is told or finds that the
// tenure is over, or is killed.
func Beliefs(events []history.Event) []*Belief {
	b := newBeliefs(len(events))
	for place, e := range events {
		b.tell(place, e)
	}
	return b.list
}

// beliefs are those of a history that is told event by event.
type beliefs struct {
	end     int // of what is not over
	service string
	granted int
	list    []*Belief
	byID    map[string][]*Belief // those of one tenure, by its name in the history
	open    map[string]int       // how many each client has
}

func newBeliefs(end int) *beliefs {
	return &beliefs{end: end, service: history.Run{}.LockService(), byID: make(map[string][]*Belief), open: make(map[string]int)}
}

func (b *beliefs) tell(place int, e history.Event) {
	switch e.Kind {
	case history.KindRun:
		if e.Run != nil {
			b.service = e.Run.LockService()
		}
	case history.KindGranted:
		b.granted++
		t := b.of(e.Client, e)
		t.Tenure, t.Held = b.granted, Span{place, b.end}
	case history.KindEnded:
		for _, t := range b.byID[e.Tenure] {
			t.Held.To = min(t.Held.To, place)
		}
	case history.KindOK:
		if asksForLock(e.Op) {
			b.begin(place, e)
		}
	case history.KindInvoke:
		switch {
		case e.Op == history.OpUnlock:
			b.stop(place, e)
		case e.Request != "" && e.Tenure != "":
			b.begin(place, e)
		}
	case history.KindFail:
		if e.Reason == reasonLost {
			b.stop(place, e)
		}
	case history.KindLost, history.KindKill:
		b.stop(place, e)
	}
}

// begin notes that a client takes a tenure for its own, if it does so for the first
// time.
func (b *beliefs) begin(place int, e history.Event) {
	if t := b.of(e.Lane, e); t.Believed == (Span{}) {
		t.Believed = Span{place, b.end}
		b.open[t.Client]++
	}
}

// stop notes that a client does not believe any longer in the tenure that e names;
// where e names none, in those of its lock; where it names no lock, in all.
func (b *beliefs) stop(place int, e history.Event) {
	list := b.list
	if e.Tenure != "" {
		list = b.byID[e.Tenure]
	}
	client := lane(e.Lane, b.service)
	for _, t := range list {
		if t.Client == client && (e.Scope == "" || t.scope == e.Scope) && t.Believed.To == b.end {
			t.Believed.To = place
			b.open[client]--
		}
	}
}

// of finds what is known of a client and the tenure that e names. One that shares
// another client's tenure holds it for as long as that.
func (b *beliefs) of(client string, e history.Event) *Belief {
	client = lane(client, b.service)
	same := b.byID[e.Tenure]
	if i := slices.IndexFunc(same, func(t *Belief) bool { return t.Client == client }); i >= 0 {
		return same[i]
	}
	t := &Belief{Client: client, scope: e.Scope}
	if len(same) > 0 {
		t.Tenure, t.Held = same[0].Tenure, same[0].Held
	}
	b.list, b.byID[e.Tenure] = append(b.list, t), append(same, t)
	return t
}
