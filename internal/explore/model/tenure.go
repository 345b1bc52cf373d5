package model

// spent is a snapshot to which the lock service went back, where it can do so once.
const spent = MaxToken

// end ends the holder's tenure. Then the first one that waits holds the lock; where it is released all hear of that.
func (m *Move) end(w *Settings, released bool) {
	m.State.free(w, m.State.Holder, released)
	m.drop(w, released)
	if !released {
		m.queueAgain(w)
	}
	m.pass(w, released)
}

// drop ends the holder's tenure.
func (m *Move) drop(w *Settings, released bool) {
	s := &m.State
	for i := range w.Clients {
		if c := &s.Clients[i]; c.Has == s.Holder {
			c.Unaware = c.Life == stands && !w.Clients[i].Clock || c.Cut && w.Clients[i].Cutoff
		}
	}
	m.log.note(Entry{What: Ended, Client: int(s.Owner), Tenure: s.Holder, Released: released})
	if c := &s.Clients[s.Owner]; c.Doing.Verb == Lock {
		c.Ticket = 0
	} else {
		m.giveUp(int(s.Owner)) // if it was never told of its grant
	}
	s.Holder, s.Number, s.Leased = 0, 0, false
	s.Drawn++ // etcd counts deletes, too
}

// pass gives the lock, if it is free, to the first one that waits. Without a queue that has to ask for it.
func (m *Move) pass(w *Settings, released bool) {
	s := &m.State
	first := -1
	for i := range w.Clients {
		c := &s.Clients[i]
		if c.Ticket != 0 && c.Place != lost && (w.Queue || c.Life == runs && s.reaches(w, i)) && (released || !w.Clients[i].Listens) && (first < 0 || c.Ticket < s.Clients[first].Ticket) {
			first = i
		}
	}
	if s.Holder == 0 && first >= 0 && w.most(s.have(w, 0)) {
		m.grant(w, first)
	}
}

// grant gives the free lock to a client, which may not know of it yet.
func (m *Move) grant(w *Settings, i int) {
	s := &m.State
	s.Grants++
	s.Holder, s.Owner, s.Leased = s.Grants, uint8(i), !w.Clients[i].Unleased
	switch token := w.Clients[i].Token; {
	case token == TokenGrant, token == TokenAgain:
		s.Drawn++
		s.Number = s.Drawn
	case w.Queue && !w.Kept: // its places are numbered, whatever the client shows
		s.Number = s.Clients[i].Ticket
	}
	for _, r := range s.Clients[i].requests() {
		if r.Verb != 0 && r.Tenure == 0 { // it was asked while the client stood in the queue
			r.Tenure = s.Holder
		}
	}
	s.spread(w)
	m.log.note(Entry{What: Granted, Client: i, Tenure: s.Holder, Token: s.Number})
}

// told has a client know of a grant, which may be over by then.
func (m *Move) told(w *Settings, i int, grant Request) {
	s := &m.State
	c := &s.Clients[i]
	c.Has, c.Sequence, c.Unaware, c.Again = grant.Tenure, 0, false, false
	switch c.Token = grant.Token; w.Clients[i].Token {
	case TokenLater:
		c.Token = s.Drawn
	case TokenApart:
		s.Drawn++
		c.Token = s.Drawn
	case TokenUnordered:
		if w.Clients[i].High {
			c.Token |= high
		}
	case TokenNone:
		c.Token = 0
	}
	c.Ticket = 0
	s.Leased = s.Leased || s.Holder == grant.Tenure
	m.tell(i)
}

// tell notes what a client was told that it has.
func (m *Move) tell(i int) {
	c := &m.State.Clients[i]
	m.log.note(Entry{What: Told, Client: i, Tenure: c.Has, Token: c.Token})
}

// expire ends a lease that nobody can renew: of the holder, or of a place in the queue.
func (m *Move) expire(w *Settings, i int) bool {
	s := &m.State
	if s.Holder != 0 && int(s.Owner) == i {
		if !s.lapses(w) {
			return false
		}
		m.end(w, false)
		return true
	}
	c := &s.Clients[i]
	ends := c.Life != runs || c.Cut
	if w.Clients[i].Renews == Lasts {
		ends = c.Life == dead
	}
	return w.Queue && !w.Kept && ends && m.giveUp(i)
}

// overtake ends the tenure of the lock's holder, by the clock of a client that is ahead: a lease that is renewed is over, too.
func (m *Move) overtake(w *Settings) bool {
	s := &m.State
	if s.Holder == 0 || !s.Leased {
		return false
	}
	if renews := w.Clients[s.Owner].Renews; renews == Lasts || renews == Stays {
		return false
	}
	m.end(w, false)
	return true
}

// restore brings the lock service back to its snapshot: nobody holds the lock.
func (m *Move) restore(w *Settings) {
	s := &m.State
	for i := range w.Clients {
		m.giveUp(i)
	}
	if s.Holder != 0 {
		s.free(w, s.Holder, false)
		m.lose(w)
	}
	if w.Redraws {
		s.Drawn = s.Saved - 1
	}
	s.Saved = 0
	if w.Once {
		s.Saved = spent
	}
}
