package model

import "iter"

// Harm is what a step does that must not be, in the words of the verdict; or that a story does which ends there.
type Harm uint8

const (
	None     Harm = iota
	Stale         // a change of an earlier tenure came after a later one's work
	Unheld        // a change of no tenure came after a tenure's work
	Shared        // two clients worked in one tenure
	Late          // a change came after a later one of its own tenure that was acknowledged
	Lost          // an acknowledged change is gone
	Torn          // half of a change was found
	Refused       // the holder was refused
	Orphaned      // a client waits in vain for a lock that is free, or that nobody can renew or release
)

// Corrupts tells harm to the data from harm to those who wait.
func (h Harm) Corrupts() bool { return h != None && h != Refused && h != Orphaned }

// Next are the steps that can come next, with the states that they make and the harm that they do.
func (s *State) Next(w *Settings) iter.Seq2[Step, Move] {
	return func(yield func(Step, Move) bool) {
		hears, midway := s.hears(w), s.midway(w)
		from := Move{State: *s}
		for i := range w.Clients {
			for verb := Lock; verb <= FillNode; verb++ {
				step := Step{Verb: verb, Client: uint8(i)}
				if hears && (verb != Lock || i != int(s.Owner)) || !s.able(step) || !s.proposes(w, i, verb) {
					continue
				}
				of, number := 1, &step.Key
				if request, _ := verb.asks(); request != 0 && request != Change {
					of = w.Keys
				} else if verb.OfNode() {
					of, number = w.Nodes, &step.Node
				}
				for k := range of {
					*number = uint8(k)
					if verb.OfNode() && s.sameNode(k) || midway == i && verb < PauseClient && !s.completes(step) {
						continue
					}
					m := from
					if m.comes(w, step) && (m.State != *s || m.Harm != None) && !m.waited && !yield(step, m) {
						return
					}
				}
			}
		}
	}
}

// proposes reports whether a step is one of those that the explorer looks at.
func (s *State) proposes(w *Settings, i int, verb Verb) bool {
	c := &w.Clients[i]
	request, _ := verb.asks()
	if request != 0 && s.idle(w, i) || verb >= KillTheStorage && i > 0 { // these are about no client
		return false
	}
	switch verb {
	case LockWithin, AwaitLoss: // lock does more, and the loss is there without its news
		return false
	case TryLock:
		return c.Finally || c.Ahead || c.Naive || c.Clears
	case Queue:
		return (w.Queue || c.Listens) && s.Clients[i].Has == 0
	case Leave:
		return w.Queue || c.Listens
	case BeginLock:
		return c.Halfway
	case Retry:
		return c.Retries
	case Read, BeginRead:
		return c.Reads
	case Write, BeginWrite:
		return w.Writes || !w.Changes
	case Delete, BeginDelete:
		return c.Deletes
	case Change, BeginChange:
		return w.Changes
	case HealClient:
		return w.Faults&(Cut|Deafen) != 0
	}
	fault := verb.Fault()
	return fault == 0 || w.Faults&fault != 0
}

// idle reports whether a client makes no request: it waits for the answer to another one, or neither has a lock nor asked
// for one, and knows that.
func (s *State) idle(w *Settings, i int) bool {
	c := &s.Clients[i]
	return c.Sent[0].Verb != 0 || c.Has == 0 && !c.waits() && w.Clients[i].Token != TokenMax
}

// Move is what a step makes.
type Move struct {
	State   State
	Harm    Harm
	Ends    bool // it is harm only if the story ends here
	Refused int  // requests
	Stale   int  // of these: refused as stale

	waited bool // for the end of a lease, which a step of its own can tell of
	log    *Log
}

// Hurt notes harm. Harm to the data is what a verdict names first.
func (m *Move) Hurt(h Harm) {
	if m.Harm == None || h.Corrupts() && !m.Harm.Corrupts() {
		m.Harm = h
	}
}

// Take takes a step; false: it cannot come now. If nothing comes of a step, the state stays as it is.
func (s *State) Take(w *Settings, step Step) (Move, bool) { return s.Tell(w, step, nil) }

// Tell is Take, and notes in a log what comes of the step.
func (s *State) Tell(w *Settings, step Step, log *Log) (Move, bool) {
	m := Move{State: *s, log: log}
	ok := m.comes(w, step)
	m.log = nil
	return m, ok
}

// comes takes a step of the move's state; false: it cannot come now.
func (m *Move) comes(w *Settings, step Step) bool {
	if !m.State.able(step) || !m.take(w, step) {
		return false
	}
	m.pass(w, false)
	if m.Harm == None {
		m.close(w)
	}
	return true
}

func (m *Move) take(w *Settings, step Step) bool {
	s, i := &m.State, int(step.Client)
	c := &s.Clients[i]
	// turn is a fault that can come where yes, and what it does.
	turn := func(yes bool, do func()) bool {
		if yes {
			do()
		}
		return yes
	}
	switch step.Verb {
	case PauseClient:
		return turn(c.Life == runs, func() { c.Life = stands })
	case ResumeClient:
		return turn(c.Life == stands, func() { c.Life = runs; m.retake(w, i) })
	case KillClient:
		return turn(c.Life != dead, func() {
			if c.Place == lost {
				m.giveUp(i)
			}
			c.kill()
		})
	case TerminateClient:
		return turn(c.Life == runs && c.Doing.Verb == 0 && !c.Again && s.reaches(w, i), func() {
			m.giveUp(i)
			if c.Has != 0 {
				m.release(w, i, Request{Tenure: c.Has, Token: c.Token})
			}
			c.kill()
		})
	case RestartClient:
		// The new process has a session of its own, and begins when that of the old one is over. It asks the storage at once.
		forgotten := c.Ticket == 0 && (s.Holder == 0 || int(s.Owner) != i)
		return turn(c.Life == dead && s.reaches(w, i) && forgotten && !s.StorageDead, func() { c.Life = runs })
	case CutClient:
		return turn(c.Life != dead && c.linked(), func() { c.Cut = true })
	case DeafenClient:
		return turn(c.Life != dead && c.linked(), func() { c.Deaf = true })
	case HealClient:
		return turn(c.Cut || c.Deaf, func() { c.Cut, c.Deaf = false, false; m.retake(w, i) })
	case DelayClient:
		return turn(c.Life != dead && !c.Delayed, func() { c.Delayed = true })
	case DeliverClient:
		return turn(c.Delayed && c.Sent[0].Verb != 0 && !s.StorageDead, func() { m.deliver(w, i) })
	case AwaitExpiry:
		return m.expire(w, i)
	case RevokeLease:
		return turn(s.Holder != 0 && int(s.Owner) == i && s.Leased, func() { m.end(w, false) })
	case KillTheStorage:
		return turn(!s.StorageDead, func() { s.StorageDead = true })
	case RestartTheStorage:
		return turn(s.StorageDead, func() { s.StorageDead = false; m.forget(w) })
	case SaveService:
		return turn(s.Holder == 0 && s.Saved == 0 && !w.Unsent, func() { s.Saved = s.Drawn + 1 })
	case RestoreService:
		return turn(s.Saved != spent && (s.Saved != 0 || w.Unsent), func() { m.restore(w) })
	case KillTheNode, RestartTheNode, JumpClock, FillNode:
		return m.node(w, step)
	}
	return m.act(w, i, step)
}
