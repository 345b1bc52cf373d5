package model

import "math/bits"

// Canonical takes from a state what can no longer matter: numbers keep their order alone, and what only a judgement
// or a check would need that this world does not have is left out. Equal canonical states have the same future.
func (s *State) Canonical(w *Settings) {
	s.forgetPast(w)
	if !w.drawsAgain() {
		for r := (ranks{}); r.next(); {
			s.numbers(w, &r)
		}
	}
	for r := (ranks{}); r.next(); {
		s.tenures(w, &r)
	}
	for i := range w.Clients {
		for r := (ranks{}); s.Clients[i].Asked > 1 && r.next(); {
			s.asked(w, i, &r)
		}
	}
}

// drawsAgain reports whether the lock service may draw a number that it drew before.
func (w *Settings) drawsAgain() bool {
	return w.Redraws && w.Faults&Restore != 0 || !w.Persists && w.Faults&KillNode != 0 || w.Evicts == EvictsAll && w.Faults&Evict != 0
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
	}
}

// owes reports whether a request that was made under a tenure is under way.
func (c *client) owes(tenure uint8) bool {
	for _, r := range c.requests() {
		if r.Verb != 0 && r.Tenure == tenure {
			return true
		}
	}
	return false
}

// requests are a client's requests that are under way, or may be made again; those without a verb are none.
func (c *client) requests() [2 + maxSent]*Request {
	return [...]*Request{&c.Doing, &c.Last, &c.Sent[0], &c.Sent[1]}
}

// asked are the numbers of a client's requests.
func (s *State) asked(w *Settings, i int, to *ranks) {
	c := &s.Clients[i]
	to.rank(&c.Asked)
	for _, r := range c.requests() {
		to.rank(&r.Asked)
	}
	for k := range w.Keys {
		if s.Keys[k].By == uint8(i)+1 {
			to.rank(&s.Keys[k].Newest)
		}
	}
}

// numbers are all that were drawn.
func (s *State) numbers(w *Settings, to *ranks) {
	to.rank(&s.Drawn)
	to.rank(&s.Number)
	for i := range w.Clients {
		c := &s.Clients[i]
		to.rank(&c.Ticket)
		to.rank(&c.Token)
		to.rank(&c.Outer)
		for _, r := range c.requests() {
			if r.Verb != 0 {
				to.rank(&r.Token)
			}
		}
	}
	for k := range w.Keys + 1 {
		to.rank(&s.Marks[k].Token)
	}
}

func (s *State) tenures(w *Settings, to *ranks) {
	to.rank(&s.Grants)
	to.rank(&s.Holder)
	to.rank(&s.Used)
	for k := range w.Nodes {
		to.rank(&s.Nodes[k])
	}
	for i := range w.Clients {
		c := &s.Clients[i]
		to.rank(&c.Has)
		for _, r := range c.requests() {
			if r.Verb != 0 {
				to.rank(&r.Tenure)
			}
		}
	}
	for k := range w.Keys {
		to.rank(&s.Keys[k].Tenure)
		to.rank(&s.Keys[k].Under)
	}
}

// ranks replaces numbers by their ranks, in two turns: in the first one it hears of all of them. 0 stays, and so does the
// highest token; those that are high stay so.
type ranks struct {
	turn    int
	present set
}

// next begins a turn. There is no second one where each number is its rank already.
func (r *ranks) next() bool {
	r.turn++
	return r.turn == 1 || r.turn == 2 && !r.present.dense()
}

func (r *ranks) rank(n *uint8) {
	switch {
	case *n == 0:
	case r.turn == 1:
		r.present[*n/64] |= 1 << (*n % 64)
	case *n != MaxToken:
		*n = *n&high | r.present.upTo(*n)
	}
}

// set has a bit for each number in it.
type set [4]uint64

// dense reports whether each number in it is its rank.
func (s *set) dense() bool {
	ranks := s[0] | 1
	return ranks&(ranks+1) == 0 && s[1]|s[2]|s[3] == 0
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
