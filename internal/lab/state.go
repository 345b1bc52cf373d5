package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// state is what the run knows of its world: the ledger of the accounts, and what only it can know.
type state struct {
	recorder *recorder
	ledger   *history.Ledger
	clients  map[string]*clientState
	owners   map[string]*owner  // by tenure
	latest   map[string]string  // slot → tenure that was granted last
	names    map[string]string  // tenure, as its client names it → as the lock service does
	sent     []*history.Request // that were not waited for, in order
	writes   int                // that the storage applied
	dead     bool               // the storage was killed
	strays   bool               // tenures in which no client has any part are told, too
	over     bool               // no client will say anything more
}

type clientState struct {
	*history.Actor
	reply   history.Event // the last to a command
	replies int           // to commands that are waited for
	notes   int
	stands  int              // how often it stood right before a write
	claims  []*claim         // the last one last
	step    string           // the name of the step that it does
	verb    scenario.Verb    // of that step
	begun   string           // the name of the step by which it began something
	later   string           // the name of the step by which it was told to send something
	sending []history.Change // what it is yet to send, and is not waited for; one that is empty stands for any request
	unlocks bool             // it sent an unlock that is not waited for
	counted int              // counts that are over
	asked   map[string]bool  // slots that it lets go of
	held    bool             // what it sends waits in the network
	deaf    bool             // what the storage answers to what it sends does not reach it
}

func newState(r *recorder) *state {
	return &state{
		recorder: r, ledger: history.NewLedger(),
		clients: make(map[string]*clientState), owners: make(map[string]*owner),
		latest: make(map[string]string), names: make(map[string]string),
	}
}

func (s *state) client(name string) *clientState {
	c := s.clients[name]
	if c == nil {
		c = &clientState{Actor: s.ledger.Actor(name), asked: make(map[string]bool)}
		s.clients[name] = c
	}
	return c
}

// record takes in what the lab itself does to the world.
func (s *state) record(e history.Event) {
	s.ledger.Take(e)
	s.recorder.add(e)
}

// take takes in one event of an account. Its At is the time since 1970, by the process's clock.
func (s *state) take(e history.Event) {
	if e.Request == requestFinal {
		return
	}
	e.At = s.recorder.since(time.Unix(0, int64(e.At)))
	e.Tenure = s.nameOf(e)
	again := e.Kind == history.KindEnded && s.ledger.Tenure(e.Tenure).Ended.Came() // since the service was restored
	s.ledger.Take(e)
	switch e.Kind {
	case history.KindGranted, history.KindEnded, history.KindQueued:
		if e.Kind != history.KindQueued {
			s.recorder.tells(e)
		}
		if !again {
			s.observed(e)
		}
		return
	case history.KindApplied, history.KindRefused, history.KindDuplicate, history.KindUnanswered:
		q := s.ledger.Request(e.Request)
		e.Client = q.Invoke.Lane
		if q.Pending { // until then nothing is committed
			e.At = max(e.At, s.owner(q.Invoke.Tenure).unlocks)
		}
		if e.Kind == history.KindApplied && e.Op == history.OpWrite {
			s.writes++
		}
	case history.KindInvoke:
		c := s.client(e.Lane)
		if e.Step = c.step; len(c.sending) > 0 && c.isTold(e) >= 0 {
			e.Step = c.later
		}
		s.invoked(c, e)
	case history.KindOK, history.KindFail, history.KindUnknown:
		s.answer(e)
		if history.AsksForLock(e.Op) && e.Kind == history.KindOK {
			s.recorder.add(e)
			s.own(e)
			return
		}
	case history.KindNote:
		e = s.noted(s.client(e.Lane), e)
	}
	s.recorder.add(e)
}

// noted takes in a note of a client, and returns it with the name of its step.
func (s *state) noted(c *clientState, e history.Event) history.Event {
	c.reply = e
	if s.ledger.Request(e.Request).Invoke.Came() { // its answer comes with the unlock
		c.replies++
		return e
	}
	c.notes++
	switch e.Op {
	case "":
		if c.verb == scenario.Unlock { // of a lock that was taken again: nobody is asked
			e.Step = c.step
		}
	case history.OpLock: // what it says of a grant before its answer, which may be long in coming
		s.owner(e.Tenure).heard = e.At
		k := c.claim(e.Scope)
		k.tenure = e.Tenure
		c.putLast(k)
		s.own(e)
	case opQueue:
		s.queues(e.Lane, e.Scope, e.Tenure)
	default:
		c.stands++
	}
	return e
}

func (s *state) invoked(c *clientState, e history.Event) {
	if e.Request != "" {
		if q := s.ledger.Request(e.Request); c.sends(e) {
			s.sent = append(s.sent, q)
			q.Lost = s.dead && !c.held
		}
		s.recorder.askedBy(e)
	}
	if history.AsksForLock(e.Op) {
		c.claim(e.Scope).asked++
	}
	if e.Op == history.OpUnlock && e.Tenure != "" { // else its client holds nothing
		s.owner(e.Tenure).unlocks = e.At
		c.unlocks = c.sends(e)
		if k := c.claim(e.Scope); !k.queues && k.latest() == e.Tenure { // else it lets go of nothing, or of what it has no more
			c.putFirst(k)
		}
		c.asked[s.recorder.slot(e.Tenure)] = true
		if !c.Cut {
			s.recorder.releasedBy(e)
		}
	}
}

// tells takes in a step that a client is told. A step that finishes has the name of its beginning, or its own.
func (s *state) tells(step scenario.Step) {
	for _, c := range s.clients {
		c.step, c.verb = "", ""
	}
	if step.Actor != step.Client {
		return
	}
	c := s.client(step.Client)
	c.step, c.verb = step.Name, step.Verb
	switch step.Verb {
	case scenario.Begin:
		c.begun = step.Name
	case scenario.Finish:
		c.step = cmp.Or(step.Name, c.begun)
	}
}

func (s *state) answer(e history.Event) {
	c := s.client(e.Lane)
	k := new(claim)
	if history.AsksForLock(e.Op) || e.Op == history.OpUnlock {
		k = c.claim(e.Scope)
	}
	q := s.ledger.Request(e.Request)
	switch {
	case slices.Contains(s.sent, q), !q.Invoke.Came() && history.AsksStorage(e.Op) && len(c.sending) > 0: // or it has looked, and sends nothing
		if e.Kind != history.KindOK {
			c.sending = nil // the rest is not sent
		}
	case q.Pending: // its step is over
	case e.Op == history.OpUnlock && e.Tenure == "" && (c.verb == scenario.Lock || c.verb == scenario.TryLock): // a part of that step
	case e.Op == history.OpUnlock && c.unlocks:
		c.unlocks = false
	case e.Op == history.OpLock && k.queues:
		if k.queues = false; e.Kind != history.KindOK {
			c.putFirst(k)
		}
	case e.Op == history.OpCount:
		c.counted++
	default:
		c.replies++
		c.reply = e
	}
	switch {
	case e.Op == history.OpUnlock && e.Kind == history.KindOK && e.Tenure == k.queued:
		k.queued = ""
	case history.AsksForLock(e.Op) && e.Kind == history.KindOK:
		if k.tenure = e.Tenure; s.owner(e.Tenure).Client != e.Lane { // else it came last when it queued
			c.putLast(k)
		}
		delete(c.asked, s.recorder.slot(e.Tenure))
	case history.AsksForLock(e.Op):
		s.leaves(e.Lane, e.Scope)
	}
}

// opQueue is the operation of a note that a client waits for a lock, where the lock service does not tell.
const opQueue = "queue"

// restarted has a client be a new process, which waits for nothing; lock service and network stay.
func (s *state) restarted(client string) {
	for _, q := range s.sentBy(client) {
		q.Answer.Kind = cmp.Or(q.Answer.Kind, history.KindUnknown)
	}
	for _, a := range s.ledger.Asks {
		if a.Client == client && isOpen(a) {
			a.Answer.Kind = history.KindUnknown
		}
	}
	c := s.client(client)
	for i, k := range c.claims {
		c.claims[i] = &claim{lock: k.lock, tenure: k.latest()}
	}
	*c = clientState{Actor: c.Actor, claims: c.claims, asked: c.asked, held: c.held, deaf: c.deaf}
}

func (c *clientState) stopped() bool { return c.Paused() || c.Dead() }

// goes reports whether it runs, and what it asks of the lock service arrives.
func (c *clientState) goes() bool { return !c.stopped() && !c.Cut }

func (c *clientState) sends(e history.Event) bool {
	i := c.isTold(e)
	if i >= 0 {
		c.sending = slices.Delete(c.sending, i, i+1)
	}
	return i >= 0
}

// isTold is the place of a request among those that it was told to send, -1 if it was not.
func (c *clientState) isTold(e history.Event) int {
	return slices.IndexFunc(c.sending, func(w history.Change) bool {
		return w == history.Change{} || w == history.Change{Key: e.Key, Value: e.Value}
	})
}

// told reports whether the account that an answer speaks of has spoken too.
func (s *state) told(reply history.Event) bool {
	t := s.ledger.Tenure(reply.Tenure)
	switch {
	case reply.Request != "" && (reply.Kind == history.KindOK || reply.Reason != ""):
		return s.ledger.Request(reply.Request).Done()
	case reply.Request != "" || reply.Kind != history.KindOK:
		return true
	case reply.Op == history.OpUnlock:
		goesOn := func(k *owner) bool { return k.Client != "" && !k.Ended.Came() }
		return s.committed(reply.Tenure) && t.Ended.Came() && !slices.ContainsFunc(s.kin(reply.Tenure), goesOn)
	case history.AsksForLock(reply.Op):
		return t.Granted.Came()
	}
	return true
}

// committed reports whether the storage has told of all that a tenure's transaction has done.
func (s *state) committed(tenure string) bool {
	return !slices.ContainsFunc(s.ledger.Requests, func(q *history.Request) bool {
		return q.Pending && q.Invoke.Tenure == tenure && q.Known() && !q.Done()
	})
}

// sentBy are the requests that a client sent and that nobody waited for, in order.
func (s *state) sentBy(client string) (list []*history.Request) {
	for _, q := range s.sent {
		if q.Invoke.Lane == client {
			list = append(list, q)
		}
	}
	return list
}

func (s *state) askedBy(client string) (n int) {
	for _, q := range s.ledger.Requests {
		if q.Invoke.Lane == client {
			n++
		}
	}
	return n
}

// underWay are those of them that are on their way to the storage.
func (s *state) underWay(client string) []*history.Request {
	return slices.DeleteFunc(s.sentBy(client), (*history.Request).Done)
}

// arrived reports whether the storage has told of all that a client was to send.
func (s *state) arrived(client string) bool {
	return len(s.client(client).sending) == 0 && len(s.underWay(client)) == 0
}

// unreachable reports whether no answer of the storage comes to a client.
func (c *clientState) unreachable() bool { return c.deaf || c.stopped() }

// accounted reports whether lock service and storage, who may be slow, told of all that clients know.
func (s *state) accounted() bool {
	for _, o := range s.owners {
		if o.told != 0 && !o.Granted.Came() && !o.Ended.Came() {
			return false
		}
	}
	return !slices.ContainsFunc(s.ledger.Requests, func(q *history.Request) bool { return q.Known() && !q.Done() })
}

// settled reports whether a client knows what came of all that the storage told of, or cannot know it.
func (s *state) settled(client string) bool {
	return s.client(client).unreachable() ||
		!slices.ContainsFunc(s.sentBy(client), func(q *history.Request) bool { return q.Done() && q.Answer.Kind == "" })
}

// storageDied loses what was on its way to the storage; what waits in the network comes to the next one.
func (s *state) storageDied() {
	s.dead = true
	for client, c := range s.clients {
		for _, q := range s.underWay(client) {
			q.Lost = !c.held
		}
	}
}

// answered reports whether a client knows the outcome of all that it sent, or has given up on it.
func (s *state) answered(client string) bool {
	return !slices.ContainsFunc(s.sentBy(client), func(q *history.Request) bool { return q.Answer.Kind == "" })
}
