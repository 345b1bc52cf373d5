package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// owner is a tenure whose client the lab finds out: the lock service tells of it without.
type owner struct {
	*history.Tenure
	told    time.Duration   // when the client was told of its grant; 0: not yet
	heard   time.Duration   // when the client first spoke of it; 0: not before it was told
	untold  bool            // its client took it before the one that it was told of, and gave it back
	left    bool            // its client waits no more, and was not told of it
	held    []history.Event // the lock service's words, which wait for its client
	revoked bool
	unlocks time.Duration // when its client began to release it
}

func (s *state) owner(tenure string) *owner {
	o := s.owners[tenure]
	if o == nil {
		o = &owner{Tenure: s.ledger.Tenure(tenure)}
		s.owners[tenure] = o
	}
	return o
}

// own is told by a client that it was granted a tenure. In a session that several use, the tenure is the first one's.
func (s *state) own(e history.Event) {
	o := s.owner(e.Tenure)
	if o.told != 0 && o.Client != e.Lane {
		return
	}
	o.Client, o.told = e.Lane, cmp.Or(o.heard, e.At)
	s.recorder.grantedBefore(o.told, e.Tenure)
	s.release(o)
	for _, k := range s.kin(e.Tenure) {
		if k.Client == "" && len(k.held) > 0 {
			k.Client, k.told, k.untold = e.Lane, k.held[0].At+1, true
			s.release(k)
		}
	}
}

// kin are the tenures in the slot of one, where the slot has the name of a tenure: they are one client's, which is
// told of one of them. Before that it may have had the lock for a moment, without knowing; after that it may have
// taken the lock again by its own renewal. What comes when it has let go of them all is nobody's.
func (s *state) kin(tenure string) (list []*owner) {
	slot := s.recorder.slot(tenure)
	if s.owners[slot] == nil {
		return nil
	}
	for _, t := range s.ledger.Tenures {
		if s.recorder.slot(t.ID) == slot {
			list = append(list, s.owner(t.ID))
		}
	}
	return list
}

// nameOf is the lock service's name of an event's tenure. A client names all kin alike, and means the latest.
func (s *state) nameOf(e history.Event) string {
	switch e.Kind {
	case history.KindGranted, history.KindEnded, history.KindQueued:
		return e.Tenure
	case history.KindOK, history.KindNote:
		if s.names[e.Tenure] == "" && history.AsksForLock(e.Op) {
			s.names[e.Tenure] = s.latest[e.Tenure]
		}
	}
	return cmp.Or(s.names[e.Tenure], e.Tenure)
}

// queues takes in that a client stands in the queue of a lock, and in which place.
func (s *state) queues(client, lock, tenure string) {
	c := s.client(client)
	k := c.claim(lock)
	k.queued = tenure
	c.putLast(k)
	s.place(client, lock)
	o := s.owner(tenure)
	o.Client = client
	s.release(o)
}

// waits says that a client queues: it has the place that was taken since a revision, and of which no client has
// told yet. It reports whether there is one.
func (s *state) waits(client, lock string, since fence.Token) bool {
	for _, t := range s.ledger.Tenures {
		if t.Client == "" && t.Scope == lock && !t.Ended.Came() && t.Token > since {
			s.queues(client, lock, t.ID)
			return true
		}
	}
	return false
}

// observed takes in the observer's word of a tenure, and keeps it until somebody says who its client is.
func (s *state) observed(e history.Event) {
	o, slot := s.owner(e.Tenure), s.recorder.slot(e.Tenure)
	switch {
	case e.Kind == history.KindEnded && !o.Granted.Came(): // it was a place in the queue
		return
	case e.Kind == history.KindGranted:
		s.latest[slot] = e.Tenure
		for _, k := range s.kin(e.Tenure) {
			if o.Client == "" && k.told != 0 && !s.client(k.Client).asked[slot] {
				o.Client, o.told = k.Client, e.At+1
			}
		}
	}
	if o.Client == "" {
		o.held = append(o.held, e)
		return
	}
	s.tell(o, e)
}

func (s *state) release(o *owner) {
	held := o.held
	o.held = nil
	for _, h := range held {
		s.tell(o, h)
	}
}

// tell records what the observer said of a tenure whose client is known.
func (s *state) tell(o *owner, e history.Event) {
	e.Client = o.Client
	c := s.client(o.Client)
	switch {
	case e.Kind == history.KindQueued:
	case e.Kind == history.KindGranted:
		// It happened before that, though the observer may have been told later, and before what the client did in
		// the tenure, of which a database can tell with the same time.
		if o.told != 0 {
			e.At = min(e.At, o.told) - 1
		}
	case o.revoked:
		e.Cause = history.CauseRevoked
	case c.asked[s.recorder.slot(e.Tenure)] && !c.Cut, o.untold && e.Cause == history.CauseRevoked, o.left && c.goes():
		e.Cause = history.CauseReleased
	case e.Cause == history.CauseRevoked: // by the lock service's own word
	default:
		e.Cause = history.CauseExpired
		if c.stopped() {
			e.Took = e.At - c.Fault.At
		}
	}
	if e.Cause == history.CauseReleased {
		e.Text = "" // it says what else would have been
	}
	s.recorder.add(e)
}

// isOpen reports whether the service may have given the lock, or a place, to a client that asked, and nobody has
// said in which tenure. Where the lock was another's, or nobody was asked, nothing more is to come.
func isOpen(a *history.Ask) bool {
	over := a.Answer.Kind == history.KindOK || a.Answer.Kind == history.KindFail && (a.Answer.Op == history.OpTryLock || a.Answer.Reason != "")
	return !a.Placed && !over
}

// place is told that it is known in which tenure a client will have a lock.
func (s *state) place(client, lock string) {
	if a := s.ledger.Ask(client, lock); a != nil {
		a.Placed = true
	}
}

// leaves is told that a client waits for a lock no more, and was not told that it has it.
func (s *state) leaves(client, lock string) {
	for _, o := range s.owners {
		if o.Client == client && o.Scope == lock && o.told == 0 {
			o.left = true
		}
	}
}

// ascribe finds whose the tenures are of which no client has spoken, as their clients cannot hear of them, or wait
// no more: that of the only client that was not told what came of its question for the lock, or else that was
// told that it did not get it. Of strays, of which no client will ever speak, it is the client that is most likely.
// It is called where no step is under way, so that all questions are known.
func (s *state) ascribe() {
	for _, o := range s.unseen() {
		at := o.held[0].At
		switch takers := s.takers(o.Scope, at); {
		case len(takers) == 1:
			a := takers[0]
			o.Client, o.left, a.Placed = a.Client, a.Answer.Kind != "", true
		case s.strays && len(s.ledger.Asks) > 0 && (s.over || !slices.ContainsFunc(takers, waits)):
			o.Client = slices.MaxFunc(s.ledger.Asks, likelier(o.Scope, at)).Client
		default: // who asks will say so
			continue
		}
		s.release(o)
	}
}

// waits reports whether a question is yet to be answered.
func waits(a *history.Ask) bool { return a.Answer.Kind == "" }

// likelier compares questions by which a lock can have been taken at a time: one for that lock, asked by then, not
// answered by another grant, the last one.
func likelier(lock string, at time.Duration) func(a, b *history.Ask) int {
	rank := func(a *history.Ask) (n int) {
		for _, is := range []bool{a.Lock == lock, a.Asked.At <= at, a.Answer.Kind != history.KindOK} {
			if n *= 2; is {
				n++
			}
		}
		return n
	}
	return func(a, b *history.Ask) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Asked.At, b.Asked.At)) }
}

// unseen are tenures, in order, of which no client has spoken, and that no other in the slot gives away.
func (s *state) unseen() (list []*owner) {
	for _, t := range s.ledger.Tenures {
		spoken := func(k *owner) bool { return k.Client != "" }
		if t.Client == "" && t.Granted.Came() && !slices.ContainsFunc(s.kin(t.ID), spoken) {
			list = append(list, s.owner(t.ID))
		}
	}
	slices.SortStableFunc(list, func(a, b *owner) int { return cmp.Compare(a.held[0].At, b.held[0].At) })
	return list
}

// takers are the questions by which a lock can have been taken unseen at a time.
func (s *state) takers(lock string, at time.Duration) []*history.Ask {
	var likely, refused []*history.Ask
	for _, a := range s.ledger.Asks {
		switch {
		case a.Lock != lock || a.Asked.At > at || !isOpen(a):
		case a.Answer.Kind == history.KindFail:
			refused = append(refused, a)
		default:
			likely = append(likely, a)
		}
	}
	if len(likely) == 0 {
		return refused
	}
	return likely
}

// claim is what a client has of one lock, or had.
type claim struct {
	lock   string // its name, as the lock service knows it
	tenure string // the last that it was granted
	queued string // the tenure that it waits for since it queued
	queues bool   // the lock is asked for, and not waited for
	asked  int    // how often its client has said that it asks for the lock
}

func (c *clientState) claim(lock string) *claim {
	for _, k := range c.claims {
		if k.lock == lock {
			return k
		}
	}
	k := &claim{lock: lock}
	c.putFirst(k)
	return k
}

// latest is the tenure that the client was granted last, or has queued for since.
func (k *claim) latest() string { return cmp.Or(k.queued, k.tenure) }

// last is the client's claim for a step that names no lock, as its agent has it: by the last grant, or place in
// a queue, which the client has not let go of.
func (c *clientState) last() *claim {
	if len(c.claims) == 0 {
		return new(claim)
	}
	return c.claims[len(c.claims)-1]
}

// putLast is told of a grant, or a place in a queue.
func (c *clientState) putLast(k *claim) { c.claims = append(c.without(k), k) }

// putFirst is told that the client lets go of a lock, or that it has asked for nothing but that.
func (c *clientState) putFirst(k *claim) { c.claims = slices.Insert(c.without(k), 0, k) }

func (c *clientState) without(k *claim) []*claim {
	return slices.DeleteFunc(c.claims, func(other *claim) bool { return other == k })
}
