package model

import "math/bits"

// store has the storage check a request and do it to the keys of a set; whole: no further request of its change follows.
func (m *Move) store(w *Settings, i int, r Request, k uint8, keys uint, whole bool) {
	last := &m.State.Marks[0]
	if w.Clients[i].ByKey {
		last = &m.State.Marks[1+k]
	}
	if why := m.State.admit(w, last, r); why != admitted {
		m.log.note(Entry{What: WasRefused, Client: i, Request: r, Keys: keys, Reason: why, Token: last.Token})
		m.refuse(r, why, r.Token == last.Token)
		return
	}
	m.log.note(Entry{What: Applied, Client: i, Request: r, Keys: keys, Token: last.Token})
	if w.Fence == FenceForgetful && r.Verb == Delete { // a wrong check
		*last = mark{}
	}
	m.use(i, r)
	for k := range w.Keys {
		key := &m.State.Keys[k]
		switch {
		case keys&(1<<k) == 0:
		case r.Verb == Read:
			key.Known = true
		default:
			m.change(i, r, key)
			key.Half = !whole
		}
	}
	if whole && r.Verb == Change {
		for k := range w.Keys {
			m.State.Keys[k].Half = false
		}
	}
	if r.Verb == Read && keys&w.Together != 0 {
		m.tear(w, m.State.torn(w) && r.Tenure > m.State.newest(w))
	}
}

// Reason is why a request was refused, in the words of histories.
type Reason string

const (
	admitted Reason = ""
	stale    Reason = "stale"
	missing  Reason = "missing"
	ahead    Reason = "ahead"
)

// admit is the storage's check, which raises the mark.
func (s *State) admit(w *Settings, m *mark, r Request) Reason {
	why := m.judge(w, s.Drawn, r)
	switch {
	case w.Fence == FenceOff || r.Verb == Read && r.Token == 0:
		return admitted
	case why == admitted && r.Token != m.Token:
		*m = mark{r.Token, r.Sequence}
	case why == admitted:
		m.Sequence = max(m.Sequence, r.Sequence)
	case w.Fence == FenceObserve:
		return admitted
	}
	return why
}

func (m *mark) judge(w *Settings, drawn uint8, r Request) Reason {
	switch {
	case r.Token == 0:
		return missing
	case w.Bound && r.Token&^high > drawn:
		return ahead
	case w.Fence == FenceDiffers && m.Token != 0 && r.Token != m.Token, r.Token < m.Token:
		return stale
	case r.Token == m.Token && r.Sequence != 0 && r.Sequence <= m.Sequence:
		return stale
	}
	return admitted
}

// refuse counts a refusal, which is harm if it hit the one who holds the lock. That a request is repeated, or comes after
// a later one of its own tenure, is none.
func (m *Move) refuse(r Request, why Reason, repeated bool) {
	m.Refused++
	if why == stale {
		m.Stale++
	}
	if r.Tenure != 0 && r.Tenure == m.State.Holder && why != missing && !repeated && (why != ahead || r.Token != MaxToken) {
		m.Hurt(Refused)
	}
}

// use finds a request that comes after a later tenure's work, or in a tenure in which another client works.
func (m *Move) use(i int, r Request) {
	s := &m.State
	switch {
	case r.Tenure == 0 && r.Verb != Read && s.Used > 0:
		m.Hurt(Unheld)
	case r.Tenure != 0 && r.Tenure < s.Used && r.Verb != Read:
		m.Hurt(Stale)
	case r.Tenure > s.Used:
		s.Used, s.Worked = r.Tenure, 0
	}
	if r.Tenure != 0 && r.Tenure == s.Used {
		if s.Worked&^(1<<i) != 0 {
			m.Hurt(Shared)
		}
		s.Worked |= 1 << i
	}
}

// change notes a change of a key, of which its client is told at once if it lives, and finds one that undoes a newer one.
func (m *Move) change(i int, r Request, key *key) {
	key.Known, key.Holds, key.Wrote, key.Tenure = !r.Unheard, r.Verb != Delete, true, r.Tenure
	if r.Tenure != 0 && key.By == uint8(i)+1 && key.Under == r.Tenure && key.Newest > r.Asked {
		m.Hurt(Late)
		return
	}
	if r.Unheard {
		return
	}
	key.By, key.Newest, key.Under = uint8(i)+1, r.Asked, r.Tenure
}

// writes notes that a step writes a key, or by a change all that belong together.
func (m *Move) writes(w *Settings, verb Verb, key uint8) {
	keys := uint8(1) << key
	if verb == Change {
		keys = uint8(w.Together)
	}
	m.State.Written |= keys & uint8(w.Together)
	m.tear(w, m.State.Written&foundTorn != 0)
}

// foundTorn is the bit of Written that is set if a read found half of a change before all keys were written.
const foundTorn = 1 << 7

// tear notes harm where half of a change was found. In a story that does not write all keys that belong together, none do.
func (m *Move) tear(w *Settings, found bool) {
	switch {
	case found && m.State.WritesAll(w):
		m.Hurt(Torn)
	case found:
		m.State.Written |= foundTorn
	}
}

// WritesAll reports whether the steps so far write all keys that belong together.
func (s *State) WritesAll(w *Settings) bool { return uint(s.Written&^foundTorn) == w.Together }

// torn reports whether the keys that belong together are not of one whole change.
func (s *State) torn(w *Settings) bool {
	first := s.Keys[bits.TrailingZeros(w.Together)]
	for i, k := range s.Keys[:w.Keys] {
		if w.Together&(1<<i) != 0 && (k.Half || k.Tenure != first.Tenure || k.Wrote != first.Wrote) {
			return true
		}
	}
	return false
}

// midway is the client that changes keys that belong together by a write each, and has not written all; -1: there is none.
func (s *State) midway(w *Settings) int {
	if !w.Writes || w.Together == 0 || !s.torn(w) {
		return -1
	}
	newest := s.newest(w)
	for i := range w.Clients {
		if s.Clients[i].Has == newest && s.believes(i) {
			return i
		}
	}
	return -1
}

// newest is the latest tenure that has changed a key of those that belong together.
func (s *State) newest(w *Settings) (tenure uint8) {
	for k := range w.Keys {
		if w.Together&(1<<k) != 0 {
			tenure = max(tenure, s.Keys[k].Tenure)
		}
	}
	return tenure
}

// completes reports whether a step writes a key that its client has yet to write, of those that belong together.
func (s *State) completes(step Step) bool {
	return step.Verb == Write && s.Keys[step.Key].Tenure != s.Clients[step.Client].Has
}

// forget is what a storage in memory does when it is killed.
func (m *Move) forget(w *Settings) {
	if !w.Memory {
		return
	}
	for k := range m.State.Keys {
		if key := m.State.Keys[k]; key.Known && key.Holds {
			m.Hurt(Lost)
		}
		m.State.Keys[k] = key{}
	}
	m.State.Marks = [MaxKeys + 1]mark{}
}

// close finds what is harm in a story that ends here.
func (m *Move) close(w *Settings) {
	// While somebody stands before something, nobody is to rely on the keys yet.
	if m.Ends = w.Together != 0 && m.State.WritesAll(w) && m.State.Rests(w) && m.State.torn(w); m.Ends {
		m.Hurt(Torn)
	}
}
