package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// ask is a client's question for a lock: the service may have given the lock to the client,
// or a place in the queue, and nobody has said in which tenure.
type ask struct {
	client, lock string
	at           time.Duration
	answer       history.Kind // that it did not get the lock, or does not know; "": it has none
}

// asked is told the event by which a client asks for a lock.
func (s *state) asked(e history.Event) {
	s.known(e.Lane, e.Scope)
	s.asks = append(s.asks, &ask{client: e.Lane, lock: e.Scope, at: e.At})
}

// known is told that it is known in which tenure a client has a lock, or will have it.
func (s *state) known(client, lock string) {
	s.asks = slices.DeleteFunc(s.asks, func(a *ask) bool { return a.client == client && a.lock == lock })
}

// toldOf is told what became of a client's question for a lock. Where the lock was another's,
// or nobody was asked, there is nothing more to come.
func (s *state) toldOf(e history.Event) {
	if e.Kind == history.KindOK || e.Kind == history.KindFail && (e.Op == history.OpTryLock || e.Reason != "") {
		s.known(e.Lane, e.Scope)
	}
	if e.Kind == history.KindOK {
		return
	}
	for _, a := range s.asks {
		if a.client == e.Lane && a.lock == e.Scope {
			a.answer = e.Kind
		}
	}
	for _, o := range s.owners {
		if o.client == e.Lane && o.scope == e.Scope && o.told == 0 {
			o.left = true
		}
	}
}

// ascribe finds whose the tenures are of which no client has spoken, as their clients cannot
// hear of them, or wait no more. A client is found by its being the only one: of those that
// were not told what came of their question for the lock, or else of those that were told that
// they did not get it. It is called where no step is under way, so that all questions of
// clients are known.
func (s *state) ascribe() {
	for _, o := range s.unseen() {
		if a := s.taker(o.scope, o.held[0].At); a != nil {
			o.client, o.left = a.client, a.answer != ""
			s.known(a.client, o.scope)
			s.release(o)
		}
	}
}

// unseen are the tenures of which no client has spoken, in their order. One that another in
// its slot makes somebody's is none.
func (s *state) unseen() (list []*owner) {
	for tenure, o := range s.owners {
		spoken := func(k *owner) bool { return k.client != "" }
		if o.client == "" && o.granted && !slices.ContainsFunc(s.kin(tenure), spoken) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *owner) int { return cmp.Compare(a.held[0].At, b.held[0].At) })
	return list
}

// taker is the only question by which a lock can have been taken unseen at a time; nil where
// there is none, or where there are several.
func (s *state) taker(lock string, at time.Duration) *ask {
	var asking, unsure, refused []*ask
	for _, a := range s.asks {
		switch {
		case a.lock != lock || a.at > at:
		case a.answer == history.KindFail:
			refused = append(refused, a)
		case a.answer == history.KindUnknown, s.client(a.client).frozen.Kind == history.KindKill:
			unsure = append(unsure, a)
		default:
			asking = append(asking, a)
		}
	}
	for _, likely := range [][]*ask{append(asking, unsure...), refused} {
		switch len(likely) {
		case 0:
		case 1:
			return likely[0]
		default: // who asks will say so
			return nil
		}
	}
	return nil
}
