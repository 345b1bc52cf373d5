package model

// act is what a client does by itself.
func (s *State) act(w *Settings, i int, step Step) (Harm, bool) {
	c, chose := &s.Clients[i], &w.Clients[i]
	switch step.Verb {
	case Lock:
		return s.lock(w, i)
	case BeginLock:
		if harm, ok := s.ask(w, i); !ok || harm != None {
			return harm, ok
		}
		c.Half, c.Doing = true, request{Verb: Lock}
		return None, true
	case Queue:
		if c.Has != 0 || c.Ticket != 0 || c.Cut || c.Deaf || chose.Session != i {
			return None, false
		}
		s.draw(w, i)
		return None, true
	case Leave:
		if c.Ticket == 0 || c.Cut || s.Holder != 0 && int(s.Owner) == i {
			return None, false
		}
		c.Ticket = 0
		return None, true
	case Unlock, BeginUnlock:
		if c.Has == 0 || c.Cut {
			return None, false
		}
		r := request{Verb: Unlock, Tenure: c.Has}
		if step.Verb == BeginUnlock {
			c.Doing = r
			return None, true
		}
		return s.release(w, i, r), true
	case Finish:
		r := c.Doing
		c.Doing = request{}
		switch r.Verb {
		case Lock:
			s.told(w, i)
			return None, true
		case Unlock:
			return s.release(w, i, r), true
		}
		return s.send(w, i, r)
	case Retry:
		r := c.Last
		if r.Verb == 0 {
			return None, false
		}
		c.Last = request{}
		if r.Verb == Unlock {
			return s.release(w, i, r), true
		}
		return s.send(w, i, r)
	}
	verb, begins := step.Verb.request()
	if !s.mayAsk(w, i, step.Verb, begins) {
		return None, false
	}
	r := s.request(w, i, verb, step.Key)
	switch {
	case begins && verb == Change && chose.Singly && w.Keys > 1:
		if s.StorageDead {
			return None, false
		}
		harm := None
		for k := range w.Keys - 1 {
			harm = worse(harm, s.part(w, i, r, k))
		}
		r.Parts = uint8(w.Keys - 1)
		c.Doing = r
		return harm, true
	case begins:
		c.Doing = r
		return None, true
	case step.Verb == SendWrite && c.Delayed:
		return None, c.keep(r)
	}
	return s.send(w, i, r)
}

// request is what a verb asks the storage for; begins: the client stands right before that.
func (v Verb) request() (verb Verb, begins bool) {
	switch v {
	case BeginRead, BeginWrite, BeginDelete, BeginChange:
		return v - BeginRead + Read, true
	case SendWrite:
		return Write, false
	}
	return v, false
}

// keep has a request wait in the network.
func (c *client) keep(r request) bool {
	for n := range c.Sent {
		if c.Sent[n].Verb == 0 {
			c.Sent[n] = r
			return true
		}
	}
	return false
}

// ask takes the lock for a client, which waits where nobody else can give it back; false: it would wait for ever
// or for what other clients do.
func (s *State) ask(w *Settings, i int) (Harm, bool) {
	c := &s.Clients[i]
	if c.Has != 0 || c.Cut || c.Deaf || w.Clients[i].Careless {
		return None, false
	}
	mine := func() bool { return s.Holder != 0 && int(s.Owner) == i && c.Ticket != 0 }
	if s.stuck() {
		return Orphaned, true
	}
	if c.Ticket == 0 {
		for !w.Queue && s.Holder != 0 {
			if !s.expire(w, int(s.Owner)) {
				return None, false
			}
		}
		s.draw(w, i)
	}
	for !mine() {
		if !s.expire(w, int(s.Owner)) {
			return None, false
		}
	}
	return None, true
}

// draw has a client ask for the lock, which it holds at once if that is free.
func (s *State) draw(w *Settings, i int) {
	s.Drawn++
	s.Clients[i].Ticket = s.Drawn
	if s.Holder == 0 {
		s.grant(w, i)
	}
}

func (s *State) lock(w *Settings, i int) (Harm, bool) {
	c := &s.Clients[i]
	if owner := w.Clients[i].Session; owner != i { // it finds the session's key, and takes it for its own
		if c.Has != 0 || s.Holder == 0 || int(s.Owner) != owner || s.Clients[owner].Has != s.Holder {
			return None, false
		}
		c.Has, c.Token, c.Unaware = s.Holder, s.Clients[owner].Token, false
		return None, true
	}
	harm, ok := s.ask(w, i)
	if ok && harm == None {
		s.told(w, i)
	}
	return harm, ok
}

// release is an unlock. A deaf client does not hear that it is done.
func (s *State) release(w *Settings, i int, r request) Harm {
	c := &s.Clients[i]
	var frees bool
	switch owner := int(s.Owner); w.Clients[i].Releases {
	case ReleasesOwn:
		frees = r.Tenure == s.Holder
	case ReleasesSession:
		frees = owner == i || owner == w.Clients[i].Session
	case ReleasesAny:
		frees = true
	}
	if frees && s.Holder != 0 {
		s.end(w)
	}
	if c.Has == r.Tenure {
		c.Has = 0
	}
	if c.Deaf {
		c.Last = r
	}
	return None
}

// mayAsk reports whether a client sends a request to the storage: it believes that it holds the lock, and looks if
// it is a client that does so.
func (s *State) mayAsk(w *Settings, i int, verb Verb, begins bool) bool {
	c, chose := &s.Clients[i], &w.Clients[i]
	if chose.Careless {
		return true
	}
	if chose.Look == LookKey && c.Has == 0 {
		return c.Ticket != 0 && !c.Cut && !c.Deaf
	}
	if c.Has == 0 {
		return false
	}
	switch chose.Look {
	case LookBegin:
		return !begins || s.Holder == c.Has || c.Unaware
	case LookSession:
		return s.Holder == c.Has || c.Unaware
	case LookService:
		return s.Holder == c.Has && !c.Cut && !c.Deaf
	}
	return true
}

// request is one that a client makes now.
func (s *State) request(w *Settings, i int, verb Verb, k uint8) request {
	c, chose := &s.Clients[i], &w.Clients[i]
	c.Asked++
	r := request{Verb: verb, Key: k, Tenure: c.Has, Asked: c.Asked}
	if verb != Read || !chose.Plain {
		r.Token = s.token(w, i)
	}
	if chose.Numbered && verb != Read {
		c.Sequence++
		r.Sequence = c.Sequence
	}
	return r
}

// send has the storage do a request. A change of several keys is one request, or one for each key.
func (s *State) send(w *Settings, i int, r request) (Harm, bool) {
	if s.StorageDead {
		return None, false
	}
	if r.Verb != Change {
		return s.store(w, i, r, r.Key, 1<<r.Key, true), true
	}
	if !w.Clients[i].Singly {
		return s.store(w, i, r, 0, 1<<w.Keys-1, true), true
	}
	harm := None
	for k := int(r.Parts); k < w.Keys; k++ {
		harm = worse(harm, s.part(w, i, r, k))
	}
	return harm, true
}

// part does one request of a change that is made key by key.
func (s *State) part(w *Settings, i int, r request, k int) Harm {
	return s.store(w, i, r, uint8(k), 1<<k, k == w.Keys-1)
}

// deliver has what waits in the network arrive.
func (s *State) deliver(w *Settings, i int) (harm Harm) {
	c := &s.Clients[i]
	c.Delayed = false
	sent := c.Sent
	c.Sent = [maxSent]request{}
	for _, r := range sent {
		if r.Verb != 0 {
			harm = worse(harm, s.store(w, i, r, r.Key, 1<<r.Key, true))
		}
	}
	return harm
}
