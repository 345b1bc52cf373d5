package model

// ask takes the lock for a client, which waits where only leases have to end; false: it would wait for other clients.
func (m *Move) ask(w *Settings, i int) bool {
	s := &m.State
	c := &s.Clients[i]
	chose := &w.Clients[i]
	if s.believes(i) || !c.linked() || c.Place == left || chose.Token == TokenMax || s.Holder != 0 && !s.answers(w) {
		return false
	}
	if chose.Clears {
		m.clear(w, i)
	}
	if s.overlooks(chose) {
		s.Clients[s.Owner].Unaware = true
		s.Holder = 0
	}
	waits := s.Holder == 0 && c.Ticket != 0 && (chose.Listens || c.Place == lost)
	if waits || !s.answers(w) || s.stuck(w) || chose.Prolongs && s.Holder != 0 && s.unkept() {
		m.Hurt(Orphaned)
		return true
	}
	if c.Ticket == 0 {
		for !w.Queue && s.Holder != 0 {
			if m.waited = true; !m.expire(w, int(s.Owner)) {
				return false
			}
		}
		m.draw(w, i)
	}
	if s.Holder == 0 && w.Nodes > 0 {
		s.lapse(w)
		m.pass(w, false)
	}
	for int(s.Owner) != i || s.Holder == 0 {
		if m.waited = true; !m.expire(w, int(s.Owner)) {
			return false
		}
	}
	return true
}

// draw has a client ask for the lock, which it holds at once if that is free.
func (m *Move) draw(w *Settings, i int) {
	s := &m.State
	s.Drawn++
	s.Clients[i].Ticket, s.Clients[i].Place = s.Drawn, kept
	if w.Queue && s.Holder != 0 {
		place := Entry{What: Queued, Client: i}
		if token := w.Clients[i].Token; token != TokenGrant && token != TokenAgain && !w.Kept {
			place.Token = s.Drawn
		}
		m.log.note(place)
	}
	m.pass(w, true)
}

// overlooks reports whether a client takes the lock for free, though another one has it.
func (s *State) overlooks(chose *Client) bool {
	return s.Holder != 0 && (chose.Skips || chose.Naive && !s.Row)
}

// clear takes from all others their places in the queue.
func (m *Move) clear(w *Settings, i int) {
	s := &m.State
	for j := range w.Clients {
		switch c := &s.Clients[j]; {
		case j == i || c.Ticket == 0 || s.Holder != 0 && int(s.Owner) == j:
		case c.Life == dead:
			m.giveUp(j)
		case c.Place == kept:
			c.Place = lost
		}
	}
}

// queueAgain has all that have lost their places stand at the end of the queue: a lease is over, for which they have waited.
func (m *Move) queueAgain(w *Settings) {
	for i := range w.Clients {
		if c := &m.State.Clients[i]; c.Place == lost {
			m.State.Drawn++
			c.Ticket, c.Place = m.State.Drawn, kept
		}
	}
}

// lock has a client take the lock, or wait for it if it stands in the queue. Who holds the lock takes it again, or has nothing to do.
func (m *Move) lock(w *Settings, i int) bool {
	s := &m.State
	c, owner := &s.Clients[i], w.Clients[i].Session
	switch {
	case owner != i: // it finds the session's key, and takes it for its own
		if c.Has != 0 || s.Holder == 0 || int(s.Owner) != owner || s.Clients[owner].Has != s.Holder {
			return false
		}
		c.Has, c.Token, c.Unaware = s.Holder, s.Clients[owner].Token, false
		m.tell(i)
	case c.Has != 0 && c.Has == s.Holder:
		m.again(w, i)
	case !m.ask(w, i):
		return false
	case m.Harm == None:
		m.told(w, i, Request{Tenure: s.Holder, Token: s.Number})
	}
	return true
}

// again has the holder take the lock once more, if it can.
func (m *Move) again(w *Settings, i int) {
	s := &m.State
	c, chose := &s.Clients[i], &w.Clients[i]
	if !chose.Reenters || c.Again || !s.reaches(w, i) {
		return
	}
	c.Again, c.Outer = true, c.Token
	if chose.Raises {
		s.Drawn++
		c.Token = s.Drawn
	}
	m.tell(i)
}

// release is an unlock. A deaf client does not hear that it is done.
func (m *Move) release(w *Settings, i int, r Request) {
	s := &m.State
	c := &s.Clients[i]
	unlock := Entry{What: Unlocks, Client: i, Tenure: r.Tenure, Token: r.Token}
	m.log.note(unlock)
	unlock.What = Unlocked
	s.Row = true
	if c.Again && c.Has == r.Tenure {
		c.Token, c.Outer, c.Again = c.Outer, 0, false
		m.log.note(unlock)
		return
	}
	frees := true // ReleasesAny
	switch w.Clients[i].Releases {
	case ReleasesOwn:
		frees = r.Tenure == s.Holder
	case ReleasesSession:
		frees = int(s.Owner) == w.Clients[i].Session
	}
	if c.Has == r.Tenure {
		c.Has = 0
	}
	if s.Holder != 0 && frees {
		m.end(w, true)
	}
	s.free(w, r.Tenure, true)
	if c.Deaf {
		c.Last, unlock.What = r, Unheard
	}
	m.log.note(unlock)
}

// giveUp has a client wait for the lock no more; false: it does not wait.
func (m *Move) giveUp(i int) bool {
	c := &m.State.Clients[i]
	waits := c.waits()
	if waits {
		m.log.note(Entry{What: Left, Client: i})
	}
	if c.Ticket, c.Place = 0, kept; waits && c.Life != dead {
		c.Place = over
	}
	return waits
}

// leave is giveUp by the client's own will.
func (m *Move) leave(w *Settings, i int) bool {
	c := &m.State.Clients[i]
	if c.Ticket != 0 && m.State.Holder == 0 {
		m.Hurt(Orphaned)
	}
	ticket := c.Ticket
	waited := m.giveUp(i)
	c.Place = kept
	if waited && w.Clients[i].Lingers {
		c.Ticket, c.Place = ticket, left
	}
	return waited
}

// retake has a client that goes on renew the lock that it believes to hold, whosever that is.
func (m *Move) retake(w *Settings, i int) {
	c := &m.State.Clients[i]
	if w.Clients[i].Renews != Retakes || c.Has == 0 || c.Has == m.State.Holder || c.Life != runs || !m.State.reaches(w, i) {
		return
	}
	if m.State.Holder != 0 {
		m.end(w, false)
	}
	if m.State.Holder == 0 {
		m.grant(w, i)
	}
	c.Unaware = true
}
