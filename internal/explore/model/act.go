package model

import (
	"math/bits"
	"slices"
)

// act is what a client does by itself; false: it cannot now.
func (m *Move) act(w *Settings, i int, step Step) bool {
	s := &m.State
	c, chose := &s.Clients[i], &w.Clients[i]
	switch step.Verb {
	case Lock:
		return m.lock(w, i)
	case LockWithin:
		if !m.lock(w, i) {
			m.leave(w, i)
		}
		return true
	case TryLock:
		if c.waits() || c.Place == over {
			return false
		}
		free := s.Holder == 0 && w.most(s.have(w, 0)) || s.Holder != 0 && int(s.Owner) == chose.Session || s.overlooks(chose)
		if free || chose.Ahead && m.overtake(w) {
			return m.lock(w, i)
		}
		if chose.Clears {
			m.clear(w, i)
		}
		if chose.Finally {
			m.release(w, i, Request{})
		}
		return true
	case AwaitLoss:
		c.Unaware = false
		return c.Has != 0 && (c.Has != s.Holder || c.Cut && !chose.Cutoff)
	case BeginLock:
		if c.Ticket != 0 || !m.ask(w, i) {
			return false
		}
		if m.Harm == None {
			c.Doing = Request{Verb: Lock, Tenure: s.Holder, Token: s.Number}
		}
		return true
	case Queue:
		if !s.reaches(w, i) || chose.Session != i || c.Place == left || c.Place == over {
			return false
		}
		if !s.believes(i) && !c.waits() {
			c.Has = 0
			m.draw(w, i)
		}
		return true
	case Leave:
		return s.reaches(w, i) && m.leave(w, i)
	case Unlock, BeginUnlock:
		switch {
		case c.Cut || !s.answers(w):
			return false
		case c.Has == 0:
			return true
		}
		c.Doing = Request{Verb: Unlock, Tenure: c.Has, Token: c.Token}
		if step.Verb == Unlock {
			return m.finish(w, i)
		}
		return true
	case Finish:
		return m.finish(w, i)
	case Retry:
		r := c.Last
		c.Doing, c.Last = r, Request{}
		return r.Verb != 0 && m.finish(w, i)
	}
	return m.work(w, i, step)
}

// finish has a client do what it stands before.
func (m *Move) finish(w *Settings, i int) bool {
	c := &m.State.Clients[i]
	r := c.Doing
	c.Doing = Request{}
	switch {
	case r.Verb == Lock:
		m.told(w, i, r)
	case r.Verb == Unlock && (c.Cut || !m.State.answers(w)):
		return false
	case r.Verb == Unlock:
		m.release(w, i, r)
	default:
		if w.Clients[i].Token == TokenAgain && r.Token != 0 {
			r.Token = m.State.token(w, i)
		}
		return m.send(w, i, r)
	}
	return true
}

// work is a request to the storage: the client looks, and sends it, or stands before it.
func (m *Move) work(w *Settings, i int, step Step) bool {
	s := &m.State
	verb, begins := step.Verb.asks()
	if can, holds := s.looks(w, i, verb, begins); !can || !holds {
		return can
	}
	r := s.request(w, i, verb, step.Key)
	if verb != Read && w.Together != 0 {
		m.writes(w, verb, step.Key)
	}
	c := &s.Clients[i]
	switch {
	case begins && verb == Change && w.Clients[i].Singly:
		if s.StorageDead {
			return false
		}
		r.Parts = uint8(bits.Len(w.Changed()) - 1)
		m.parts(w, i, r, 0, int(r.Parts))
		c.Doing = r
		return true
	case begins:
		c.Doing = r
		return true
	case step.Verb == SendWrite && c.Delayed:
		room := slices.IndexFunc(c.Sent[:], func(r Request) bool { return r.Verb == 0 })
		if room < 0 {
			return false
		}
		c.Sent[room] = r
		m.log.note(Entry{What: Asked, Client: i, Request: r, Keys: 1 << step.Key})
		return true
	}
	return m.send(w, i, r)
}

// looks is what a client finds before a request: whether it can look, and whether it may make the request. Before a read
// it does not look. A client that waits for the lock makes a request only if the lock service tells it that it holds it.
func (s *State) looks(w *Settings, i int, verb Verb, begins bool) (can, holds bool) {
	c, chose := &s.Clients[i], &w.Clients[i]
	switch {
	case chose.Token == TokenMax:
		return true, true
	case verb == Read, chose.Look == LookNothing, chose.Look == LookBegin && !begins:
		return true, !c.waits()
	case chose.Look == LookKey && c.Has == 0:
		return s.reaches(w, i), c.waits()
	case chose.Look == LookKey, chose.Look == LookService:
		return s.reaches(w, i), c.Has != 0 && s.Holder == c.Has
	}
	return true, s.believes(i)
}

// request is one that a client makes now.
func (s *State) request(w *Settings, i int, verb Verb, k uint8) Request {
	c, chose := &s.Clients[i], &w.Clients[i]
	c.Asked++
	r := Request{Verb: verb, Key: k, Tenure: c.Has, Asked: c.Asked}
	if verb != Read || !chose.Plain {
		r.Token = s.token(w, i)
	}
	if chose.Numbered && verb != Read && r.Token != 0 {
		c.Sequence++
		r.Sequence = c.Sequence
	}
	return r
}

// send has the storage do a request. A change of several keys is one request, or one for each key.
func (m *Move) send(w *Settings, i int, r Request) bool {
	switch {
	case m.State.StorageDead:
		return false
	case r.Verb != Change:
		m.store(w, i, r, r.Key, 1<<r.Key, true)
	case !w.Clients[i].Singly:
		m.store(w, i, r, 0, w.Changed(), true)
	default:
		m.parts(w, i, r, int(r.Parts), w.Keys)
	}
	return true
}

// parts does requests of a change that is made key by key.
func (m *Move) parts(w *Settings, i int, r Request, from, to int) {
	for k := from; k < to; k++ {
		if w.Changed()&(1<<k) != 0 {
			m.store(w, i, r, uint8(k), 1<<k, k == bits.Len(w.Changed())-1)
		}
	}
}

// deliver has what waits in the network arrive.
func (m *Move) deliver(w *Settings, i int) {
	c := &m.State.Clients[i]
	sent := c.Sent
	c.Delayed, c.Sent = false, [maxSent]Request{}
	for _, r := range sent {
		if r.Verb != 0 {
			m.send(w, i, r)
		}
	}
}
