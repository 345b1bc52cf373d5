package model

import "math/bits"

// Canonical is a state without what can no longer matter: numbers keep their order alone, and what only a judgement
// or a check would need that this world does not have is left out. Equal canonical states have the same future.
func (s State) Canonical(w *Settings) State {
	s.forgetPast(w)
	if w.Faults&Restore == 0 || !w.Redraws { // else a number may be drawn again
		s.rank(func(yield func(*uint8)) { s.numbers(w, yield) })
	}
	s.rank(func(yield func(*uint8)) { s.tenures(w, yield) })
	return s
}

func (s *State) forgetPast(w *Settings) {
	if w.Fence == FenceOff {
		s.Marks = [MaxKeys + 1]mark{}
	}
	if s.Holder == 0 {
		s.Owner = 0
	}
	sessions, naive := false, false
	for i := range w.Clients {
		sessions = sessions || w.Clients[i].Session != i
		naive = naive || w.Clients[i].Naive
	}
	s.Row = s.Row && naive
	if !sessions {
		s.Worked = 0
	}
	for k := range w.Keys {
		key := &s.Keys[k]
		if key.By != 0 && !s.Clients[key.By-1].owes(key.Under) {
			key.By, key.Newest, key.Under = 0, 0, 0
		}
		if w.Together&(1<<k) == 0 {
			key.Tenure, key.Half = 0, false
		}
		if !w.Memory {
			key.Known, key.Holds = false, false
			key.Wrote = key.Wrote && w.Together&(1<<k) != 0
		}
	}
	for i := range w.Clients {
		c := &s.Clients[i]
		if c.Has == 0 {
			c.Token, c.Outer, c.Again, c.Unaware = 0, 0, false, false
		}
		if !w.Clients[i].Retries {
			c.Last = Request{}
		}
		if !w.Clients[i].Numbered {
			c.Sequence = 0
		}
		s.requests(i)
	}
}

// owes reports whether a request that was made under a tenure is under way.
func (c *client) owes(tenure uint8) (owes bool) {
	c.each(func(r *Request) { owes = owes || r.Tenure == tenure })
	return owes
}

// each are a client's requests that are under way, or may be made again.
func (c *client) each(yield func(*Request)) {
	for _, r := range []*Request{&c.Doing, &c.Last, &c.Sent[0], &c.Sent[1]} {
		if r.Verb != 0 {
			yield(r)
		}
	}
}

// requests gives the requests of a client their order alone.
func (s *State) requests(i int) {
	c := &s.Clients[i]
	s.rank(func(yield func(*uint8)) {
		c.each(func(r *Request) { yield(&r.Asked) })
		for k := range s.Keys {
			if s.Keys[k].By == uint8(i)+1 {
				yield(&s.Keys[k].Newest)
			}
		}
		yield(&c.Asked)
	})
}

// numbers are all that were drawn.
func (s *State) numbers(w *Settings, yield func(*uint8)) {
	yield(&s.Drawn)
	yield(&s.Number)
	for i := range w.Clients {
		c := &s.Clients[i]
		yield(&c.Ticket)
		yield(&c.Token)
		yield(&c.Outer)
		c.each(func(r *Request) { yield(&r.Token) })
	}
	for k := range s.Marks {
		yield(&s.Marks[k].Token)
	}
}

func (s *State) tenures(w *Settings, yield func(*uint8)) {
	yield(&s.Grants)
	yield(&s.Holder)
	yield(&s.Used)
	for i := range w.Clients {
		c := &s.Clients[i]
		yield(&c.Has)
		c.each(func(r *Request) { yield(&r.Tenure) })
	}
	for k := range s.Keys {
		yield(&s.Keys[k].Tenure)
		yield(&s.Keys[k].Under)
	}
}

// rank replaces numbers by their ranks. 0 stays, and so does the highest token; those that are high stay so.
func (s *State) rank(numbers func(func(*uint8))) {
	var present set
	numbers(func(n *uint8) { present.add(*n) })
	numbers(func(n *uint8) {
		if *n != 0 && *n != MaxToken {
			*n = *n&high | present.upTo(*n)
		}
	})
}

// set has a bit for each number in it.
type set [4]uint64

func (s *set) add(n uint8) {
	if n != 0 {
		s[n/64] |= 1 << (n % 64)
	}
}

// upTo is how many numbers there are up to n; where n is high, of those that are high.
func (s *set) upTo(n uint8) uint8 {
	count := bits.OnesCount64(s[n/64] << (63 - n%64))
	for word := n / high * 2; word < n/64; word++ {
		count += bits.OnesCount64(s[word])
	}
	return uint8(count)
}

// Exchange gives the clients' places to one another: what was client i is client to[i].
func (s State) Exchange(to [MaxClients]uint8) State {
	t := s
	for i := range s.Clients {
		t.Clients[to[i]] = s.Clients[i]
	}
	if s.Holder != 0 {
		t.Owner = to[s.Owner]
	}
	t.Worked = 0
	for i := range to {
		t.Worked |= s.Worked >> i & 1 << to[i]
	}
	for k := range t.Keys {
		if by := s.Keys[k].By; by != 0 {
			t.Keys[k].By = to[by-1] + 1
		}
	}
	return t
}

// Alike are the ways in which clients with the same settings can change places, the first of them none. Clients that
// share a session stay where they are.
func (w *Settings) Alike() (list [][MaxClients]uint8) {
	var stays [MaxClients]bool
	for i, c := range w.Clients {
		if c.Session != i {
			stays[i], stays[c.Session] = true, true
		}
	}
	alike := func(i, j int) bool {
		a, b := w.Clients[i], w.Clients[j]
		a.Session, b.Session = 0, 0
		return i == j || a == b && !stays[i] && !stays[j]
	}
	var place func(to [MaxClients]uint8, i int, taken uint8)
	place = func(to [MaxClients]uint8, i int, taken uint8) {
		if i == len(w.Clients) {
			list = append(list, to)
			return
		}
		for j := range w.Clients {
			if taken&(1<<j) == 0 && alike(i, j) {
				to[i] = uint8(j)
				place(to, i+1, taken|1<<j)
			}
		}
	}
	place([MaxClients]uint8{0, 1, 2, 3}, 0, 0)
	return list
}
