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
	Orphaned      // a lock is held for ever, and nobody can renew or release it
)

// Corrupts tells harm to the data from harm to those who wait.
func (h Harm) Corrupts() bool { return h != None && h != Refused && h != Orphaned }

// worse is the harm that a verdict names.
func worse(a, b Harm) Harm {
	if a == None || b.Corrupts() && !a.Corrupts() {
		return b
	}
	return a
}

// Next are the steps that can come next, with the states that they make and the harm that they do.
func (s *State) Next(w *Settings) iter.Seq2[Step, Move] {
	return func(yield func(Step, Move) bool) {
		for i := range w.Clients {
			for verb := Lock; verb <= RestoreService; verb++ {
				keys := 1
				if verb.ofKey() {
					keys = w.Keys
				}
				for k := range keys {
					step := Step{verb, uint8(i), uint8(k)}
					if verb.ofWorld() && i > 0 || !w.proposes(step) {
						continue
					}
					if m, ok := s.Take(w, step); ok && m.State != *s && !yield(step, m) {
						return
					}
				}
			}
		}
	}
}

// Move is what a step makes.
type Move struct {
	State State
	Harm  Harm
}

func (v Verb) ofKey() bool {
	switch v {
	case Read, Write, Delete, BeginRead, BeginWrite, BeginDelete, SendWrite:
		return true
	}
	return false
}

// ofWorld are steps that are about no client.
func (v Verb) ofWorld() bool { return v >= KillTheStorage }

// proposes reports whether a step is one of those that the explorer looks at.
func (w *Settings) proposes(step Step) bool {
	c := &w.Clients[step.Client]
	has := func(f Faults) bool { return w.Faults&f != 0 }
	switch step.Verb {
	case Queue, Leave:
		return w.Queue && !c.Unqueued
	case Unlock:
		return !c.Unreleased
	case Read:
		return c.Reads
	case Write:
		return !w.Changes
	case Delete:
		return c.Deletes
	case Change:
		return w.Changes
	case BeginLock:
		return w.Halfway
	case BeginRead:
		return c.Begins && c.Reads
	case BeginWrite:
		return c.Begins && !w.Changes
	case BeginDelete:
		return c.Begins && c.Deletes
	case BeginChange:
		return w.Changes
	case BeginUnlock:
		return c.Begins && !c.Unreleased
	case Retry:
		return c.Retries
	case SendWrite, DelayClient, DeliverClient:
		return has(Delay)
	case PauseClient, ResumeClient:
		return has(Pause)
	case KillClient, RestartClient:
		return has(Kill)
	case CutClient:
		return has(Cut)
	case DeafenClient:
		return has(Deafen)
	case HealClient:
		return has(Cut | Deafen)
	case RevokeLease:
		return has(Revoke)
	case KillTheStorage, RestartTheStorage:
		return has(KillStorage)
	case SaveService, RestoreService:
		return has(Restore)
	}
	return true
}

// Take takes a step; ok says whether it can come now. A step that can come, and of which nothing comes, changes nothing.
func (s *State) Take(w *Settings, step Step) (m Move, ok bool) {
	m.State = *s
	m.Harm, ok = m.State.take(w, step)
	if m.Harm == None && ok {
		m.Harm = m.State.ends(w)
	}
	return m, ok
}

func (s *State) take(w *Settings, step Step) (Harm, bool) {
	i := int(step.Client)
	c := &s.Clients[i]
	switch step.Verb {
	case PauseClient:
		if c.Life != runs {
			return None, false
		}
		c.Life = stands
		return None, true
	case ResumeClient:
		if c.Life != stands {
			return None, false
		}
		c.Life = runs
		s.renewAgain(w, i)
		return None, true
	case KillClient:
		if c.Life == dead {
			return None, false
		}
		*c = client{Life: dead, Cut: c.Cut, Deaf: c.Deaf, Delayed: c.Delayed, Ticket: c.Ticket, Sent: c.Sent, Asked: c.Asked}
		return None, true
	case RestartClient:
		if c.Life != dead {
			return None, false
		}
		c.Life = runs
		return None, true
	case CutClient:
		if c.Cut || c.Deaf {
			return None, false
		}
		c.Cut = true
		return None, true
	case DeafenClient:
		if c.Cut || c.Deaf {
			return None, false
		}
		c.Deaf = true
		return None, true
	case HealClient:
		if !c.Cut && !c.Deaf {
			return None, false
		}
		c.Cut, c.Deaf = false, false
		s.renewAgain(w, i)
		return None, true
	case DelayClient:
		if c.Delayed {
			return None, false
		}
		c.Delayed = true
		return None, true
	case DeliverClient:
		if !c.Delayed || s.StorageDead {
			return None, false
		}
		return s.deliver(w, i), true
	case AwaitExpiry:
		return None, s.expire(w, i)
	case RevokeLease:
		if s.Holder == 0 || int(s.Owner) != i || !s.Leased {
			return None, false
		}
		s.end(w)
		return None, true
	case KillTheStorage:
		if s.StorageDead {
			return None, false
		}
		s.StorageDead = true
		return None, true
	case RestartTheStorage:
		if !s.StorageDead {
			return None, false
		}
		s.StorageDead = false
		return s.forget(w), true
	case SaveService:
		if s.Holder != 0 || s.Saved != 0 {
			return None, false
		}
		s.Saved = s.Drawn + 1
		return None, true
	case RestoreService:
		return None, s.restore(w)
	}
	if !s.can(i) || c.Doing.Verb != 0 != (step.Verb == Finish) {
		return None, false
	}
	return s.act(w, i, step)
}

// expire ends a lease that nobody can renew: of the holder, or of a place in the queue.
func (s *State) expire(w *Settings, i int) bool {
	if s.Holder != 0 && int(s.Owner) == i {
		if !s.lapses(w) {
			return false
		}
		if s.Clients[i].Ticket != 0 { // it was never told
			s.Clients[i].Ticket = 0
		}
		s.end(w)
		return true
	}
	c := &s.Clients[i]
	if c.Ticket == 0 || c.Life == runs && !c.Cut {
		return false
	}
	c.Ticket = 0
	return true
}

// renewAgain has a client that renews whatever it finds take a free lock again.
func (s *State) renewAgain(w *Settings, i int) {
	c := &s.Clients[i]
	if w.Clients[i].Renews == RenewsAgain && c.Has != 0 && c.Has != s.Holder && s.Holder == 0 && c.Life == runs && !c.Cut {
		s.Grants++
		s.Holder, s.Owner, s.Leased = s.Grants, uint8(i), true
	}
}

// restore brings the lock service back to its snapshot: nobody holds the lock.
func (s *State) restore(w *Settings) bool {
	if s.Saved == 0 {
		return false
	}
	for i := range w.Clients {
		s.Clients[i].Ticket = 0
	}
	if s.Holder != 0 {
		s.end(w)
	}
	if w.Restores == RestoresPlain {
		s.Drawn = s.Saved - 1
	}
	s.Saved = 0
	return true
}
