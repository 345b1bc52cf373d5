package history

import (
	"cmp"
	"slices"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Ledger is who holds, waits for and believes what, and what the storage has, by the events so far. It is a fold:
// the same events make the same ledger. It also takes those of a run that goes on, as they become known, and
// joins what they say, whichever comes first. What only who runs the run has found out is written into the
// fields that say so.
type Ledger struct {
	Tenures  []*Tenure        // in the order in which they were first named
	Holdings []*Holding       // in the order in which they began
	Requests []*Request       // to the storage, in the order in which they were first named
	Asks     []*Ask           // of each client and lock the last one, in the order of these
	Values   map[string]Event // key → by which event the storage has its value
	Marks    map[string]fence.Token

	line, grants int // so far
	tenures      map[string]*Tenure
	requests     map[string]*Request
	actors       map[string]*Actor
}

// Entry is an event, and its line in the history, from 1. The zero Entry is none.
type Entry struct {
	Event
	Line int
}

// Came reports whether there is the event.
func (e Entry) Came() bool { return e.Line > 0 }

// Tenure is a client's time with a lock, by the lock service's account.
type Tenure struct {
	ID       string
	N        int    // which grant of all it is, from 1; 0: it is not granted
	Client   string // whose it is; "": nobody has said so. A run finds out
	Scope    string // its lock
	Token    fence.Token
	Queued   Entry
	Granted  Entry // for the first time
	Ended    Entry // or the place in the queue, where it is not granted
	Holdings []*Holding
}

// Known reports whether the lock service has told of t.
func (t *Tenure) Known() bool { return t.Queued.Came() || t.Granted.Came() }

// Holding is what one client makes of a tenure: it believes that it has the lock from Began to Ended.
type Holding struct {
	*Tenure
	Client string
	Began  Entry // it was told so, or sent a request under the tenure
	Ended  Entry // it let go, was told or found that the tenure is over, or was killed
	Lost   bool  // it was told that the tenure is over
}

// Request is one to the storage, by the accounts of both sides.
type Request struct {
	Invoke, Answer Entry
	Told           []Entry // by the storage
	Pending        bool    // it is done with the commit of its tenure's transaction, or not at all
	Lost           bool    // on its way to the storage, as a run finds out
}

// Known reports whether the client knows what the storage did.
func (q *Request) Known() bool { return q.Answer.Kind == KindOK || q.Answer.Reason != "" }

// Done reports whether the storage has nothing more to tell of q: of a change it tells part by part.
func (q *Request) Done() bool {
	return q.Lost || len(q.Told) > 0 && (q.Invoke.Op != OpChange || len(q.Told) >= len(q.Invoke.Changes))
}

type Ask struct {
	Client, Lock  string
	Asked, Answer Entry
	Placed        bool // it is known in which tenure the client has the lock, or will have it, as a run finds out
}

// Actor is a client, the lock service or the storage.
type Actor struct {
	Fault    Entry     // the last pause, resume, kill or restart
	Cut      bool      // nothing passes between it and the lock service
	Holds    []*Tenure // by the lock service's account, the latest last; another client's, if it was told that it has that
	Latest   *Tenure   // that it was granted; nil: none
	Believes int       // how many tenures it believes to have
}

func (a *Actor) Paused() bool { return a.Fault.Kind == KindPause }

// Dead reports whether a was killed, and is not known to run again.
func (a *Actor) Dead() bool { return a.Fault.Kind == KindKill }

func NewLedger() *Ledger {
	return &Ledger{
		Values: make(map[string]Event), Marks: make(map[string]fence.Token),
		tenures: make(map[string]*Tenure), requests: make(map[string]*Request), actors: make(map[string]*Actor),
	}
}

func Fold(events []Event) *Ledger {
	l := NewLedger()
	for _, e := range events {
		l.Take(e)
	}
	return l
}

// Tenure is what is known of the tenure of that name.
func (l *Ledger) Tenure(id string) *Tenure {
	t := l.tenures[id]
	if t == nil {
		t = &Tenure{ID: id}
		l.tenures[id], l.Tenures = t, append(l.Tenures, t)
	}
	return t
}

// Request is what is known of the request of that name. Of one without a name nothing is.
func (l *Ledger) Request(id string) *Request {
	q := l.requests[id]
	switch {
	case id == "":
		return new(Request)
	case q == nil:
		q = new(Request)
		l.requests[id], l.Requests = q, append(l.Requests, q)
	}
	return q
}

// Actor is who acts in a lane.
func (l *Ledger) Actor(lane string) *Actor {
	a := l.actors[lane]
	if a == nil {
		a = new(Actor)
		l.actors[lane] = a
	}
	return a
}

// Holder is the client whose lock it is, by the lock service's account, the first of several; "": nobody's.
func (l *Ledger) Holder(lock string) string {
	for _, t := range l.Tenures {
		if t.Scope == lock && t.Granted.Came() && !t.Ended.Came() {
			return t.Client
		}
	}
	return ""
}

// Holding is what a client makes of a tenure; nil: nothing.
func (l *Ledger) Holding(client, tenure string) *Holding {
	for _, h := range l.Tenure(tenure).Holdings {
		if h.Client == client {
			return h
		}
	}
	return nil
}

// Ask is a client's last question for a lock; nil: it has asked none.
func (l *Ledger) Ask(client, lock string) *Ask {
	for _, a := range slices.Backward(l.Asks) {
		if a.Client == client && a.Lock == lock {
			return a
		}
	}
	return nil
}

// Forget says that the storage was killed, and had all in its memory.
func (l *Ledger) Forget() {
	clear(l.Values)
	clear(l.Marks)
}

func (l *Ledger) Take(e Event) {
	l.line++
	at := Entry{e, l.line}
	switch {
	case isTenure(e.Kind):
		l.takeTenure(at)
	case isStorage(e.Kind):
		l.revive(e.Lane)
		q := l.Request(e.Request)
		q.Told = append(q.Told, at)
		l.store(e)
	case e.Kind == KindFinal:
		l.store(e)
	case e.Kind == KindInvoke:
		l.invoked(at)
	case isAnswer(e.Kind):
		l.answered(at)
	case e.Kind == KindLost:
		l.holding(e.Lane, e).Lost = true
		l.disbelieve(at)
	case e.Kind == KindNote:
		l.Request(e.Request).Pending = true
	case e.Kind == KindNetwork:
		l.Actor(e.Lane).Cut = e.Cause == CausePartition || l.Actor(e.Lane).Cut && e.Cause != CauseHeal
	case isFault(e.Kind):
		l.Actor(e.Lane).Fault = at
		if e.Kind == KindKill {
			l.disbelieve(at)
		}
	}
}

func (l *Ledger) takeTenure(e Entry) {
	t := l.Tenure(e.Tenure)
	switch e.Kind {
	case KindQueued:
		t.Queued = first(t.Queued, e)
	case KindGranted:
		l.grants++
		t.N, t.Granted, t.Ended = l.grants, first(t.Granted, e), Entry{}
	case KindEnded:
		t.Ended = e
		for _, h := range t.Holdings {
			a := l.Actor(h.Client)
			a.Holds = slices.DeleteFunc(a.Holds, func(held *Tenure) bool { return held == t })
		}
		return
	}
	t.Scope, t.Token = e.Scope, e.Token
	if e.Client == "" {
		return
	}
	t.Client = e.Client
	if e.Kind == KindGranted {
		l.holding(e.Client, e.Event)
		a := l.Actor(e.Client)
		a.Holds, a.Latest = append(a.Holds, t), t
	}
}

// first is the earlier one of an entry that may have come and one that comes now.
func first(before, now Entry) Entry {
	if before.Came() {
		return before
	}
	return now
}

func (l *Ledger) invoked(e Entry) {
	l.revive(e.Lane)
	q := l.Request(e.Request)
	q.Invoke = first(q.Invoke, e)
	switch {
	case AsksForLock(e.Op):
		l.Asks = slices.DeleteFunc(l.Asks, func(a *Ask) bool { return a.Client == e.Lane && a.Lock == e.Scope })
		l.Asks = append(l.Asks, &Ask{Client: e.Lane, Lock: e.Scope, Asked: e})
	case e.Op == OpUnlock:
		l.disbelieve(e)
	case e.Request != "" && e.Tenure != "":
		l.believe(e)
	}
}

func (l *Ledger) answered(e Entry) {
	q := l.Request(e.Request)
	q.Answer = first(q.Answer, e)
	switch {
	case AsksForLock(e.Op):
		if a := l.Ask(e.Lane, e.Scope); a != nil {
			a.Answer = e
		}
		if e.Kind == KindOK {
			l.toldOf(e)
		}
	case e.Kind == KindFail && e.Reason == ReasonLost:
		l.disbelieve(e)
	}
}

// ReasonLost is why a client sent nothing: it has looked, and found that the lock is not its own.
const ReasonLost = "lost"

// toldOf takes in that a client was told that it has a lock: it may be by the tenure of another one.
func (l *Ledger) toldOf(e Entry) {
	h, a := l.believe(e), l.Actor(e.Lane)
	if h.Known() && !h.Tenure.Ended.Came() && h.Tenure.Client != e.Lane && !slices.Contains(a.Holds, h.Tenure) {
		a.Holds = append(a.Holds, h.Tenure)
	}
}

// believe takes in that a client takes a tenure for its own. Who has ceased to do so does not begin again.
func (l *Ledger) believe(e Entry) *Holding {
	h := l.holding(e.Lane, e.Event)
	if !h.Began.Came() {
		h.Began = e
		l.Actor(e.Lane).Believes++
	}
	return h
}

// disbelieve takes in that a client gives up the tenure that e names; or those of its lock; or all.
func (l *Ledger) disbelieve(e Entry) {
	list := l.Holdings
	if e.Tenure != "" {
		list = l.Tenure(e.Tenure).Holdings
	}
	for _, h := range list {
		if h.Client == e.Lane && (e.Scope == "" || h.Scope == e.Scope) && h.Began.Came() && !h.Ended.Came() {
			h.Ended = e
			l.Actor(e.Lane).Believes--
		}
	}
}

func (l *Ledger) holding(client string, e Event) *Holding {
	h := l.Holding(client, e.Tenure)
	if h == nil {
		t := l.Tenure(e.Tenure)
		t.Scope = cmp.Or(t.Scope, e.Scope)
		h = &Holding{Tenure: t, Client: client}
		t.Holdings, l.Holdings = append(t.Holdings, h), append(l.Holdings, h)
	}
	return h
}

// revive takes in that somebody acts who was killed: it was started again.
func (l *Ledger) revive(lane string) {
	if a := l.Actor(lane); a.Dead() {
		a.Fault.Kind = KindRestart
	}
}

func (l *Ledger) store(e Event) {
	put := func(e Event, key, value string) {
		e.Key, e.Value = key, value
		l.Values[key] = e
	}
	switch applied := e.Kind == KindApplied; {
	case applied && e.Op == OpDelete, e.Kind == KindFinal && e.Missing:
		delete(l.Values, e.Key)
	case applied && e.Op == OpWrite, e.Kind == KindFinal && l.Values[e.Key].Value != e.Value:
		put(e, e.Key, e.Value)
	case applied && e.Op == OpChange:
		for _, c := range e.Changes {
			put(e, c.Key, c.Value)
		}
	}
	if e.Kind == KindApplied && e.Mark > 0 {
		l.Marks[e.Scope] = e.Mark
	}
}
