package model

// store has the storage check a request and do it to the keys of a set; whole: no further request of its change follows.
func (s *State) store(w *Settings, i int, r request, k uint8, keys uint, whole bool) Harm {
	m := &s.Marks[0]
	if w.Clients[i].ByKey {
		m = &s.Marks[1+k]
	}
	if !s.admit(w, m, r) {
		return s.refused(w, i, r, m)
	}
	if w.Fence == FenceForgetful && r.Verb == Delete {
		*m = mark{}
	}
	harm := s.used(i, r)
	for k := range w.Keys {
		if keys&(1<<k) == 0 {
			continue
		}
		if r.Verb == Read {
			s.Keys[k].Known = s.Keys[k].Known || s.Keys[k].Wrote
			continue
		}
		harm = worse(harm, s.change(i, r, k))
		s.Keys[k].Half = !whole
	}
	if whole && w.Together && r.Verb == Change {
		for k := range w.Keys {
			s.Keys[k].Half = false
		}
	}
	if r.Verb == Read && w.Together && s.torn(w) {
		harm = worse(harm, Torn)
	}
	return harm
}

// admit is the storage's check, which raises the mark.
func (s *State) admit(w *Settings, m *mark, r request) bool {
	if w.Fence == FenceOff {
		return true
	}
	plain := r.Verb == Read && r.Token == 0
	ok := plain
	switch {
	case plain:
	case r.Token == 0:
	case w.Bound && r.Token&^high > s.Drawn || w.Bound && r.Token == maxToken:
	case w.Fence == FenceDiffers:
		ok = m.Token == 0 || r.Token == m.Token
	case r.Token == m.Token:
		ok = r.Sequence == 0 || r.Sequence > m.Sequence
	default:
		ok = r.Token > m.Token
	}
	if ok && !plain {
		if r.Token != m.Token {
			*m = mark{Token: r.Token}
		}
		m.Sequence = max(m.Sequence, r.Sequence)
	}
	return ok || w.Fence == FenceObserve
}

// refused is the harm of a refusal: whether it hit the one who holds the lock.
func (s *State) refused(w *Settings, i int, r request, m *mark) Harm {
	switch {
	case r.Tenure == 0 || r.Tenure != s.Holder || r.Token == 0:
	case r.Token == m.Token && r.Sequence != 0:
	case w.Bound && r.Token == maxToken:
	default:
		return Refused
	}
	return None
}

// used is the harm of a request that comes after a later tenure's work, or in a tenure in which another client works.
func (s *State) used(i int, r request) (harm Harm) {
	switch {
	case r.Tenure == 0 && r.Verb != Read && s.Used > 0:
		harm = Unheld
	case r.Tenure != 0 && r.Tenure < s.Used && r.Verb != Read:
		harm = Stale
	case r.Tenure > s.Used:
		s.Used, s.Worked = r.Tenure, 0
	}
	if r.Tenure != 0 && r.Tenure == s.Used {
		if s.Worked&^(1<<i) != 0 {
			harm = worse(harm, Shared)
		}
		s.Worked |= 1 << i
	}
	return harm
}

// change notes a change of a key, of which its client is told at once, and finds one that undoes a newer one.
func (s *State) change(i int, r request, k int) (harm Harm) {
	key := &s.Keys[k]
	newest := key.By == uint8(i)+1 && key.Under == r.Tenure
	if newest && r.Tenure != 0 && key.Newest > r.Asked {
		return Late
	}
	key.By, key.Newest, key.Under = uint8(i)+1, r.Asked, r.Tenure
	key.Known, key.Wrote, key.Tenure = true, true, r.Tenure
	return None
}

// torn reports whether the keys are not of one whole change.
func (s *State) torn(w *Settings) bool {
	for k := range w.Keys {
		if s.Keys[k].Half || s.Keys[k].Tenure != s.Keys[0].Tenure || s.Keys[k].Wrote != s.Keys[0].Wrote {
			return true
		}
	}
	return false
}

// forget is what a storage in memory does when it is killed.
func (s *State) forget(w *Settings) (harm Harm) {
	if !w.Memory {
		return None
	}
	for k := range s.Keys {
		if s.Keys[k].Known {
			harm = Lost
		}
		s.Keys[k] = key{}
	}
	s.Marks = [MaxKeys + 1]mark{}
	return harm
}

// ends is the harm of a story that ends here.
func (s *State) ends(w *Settings) Harm {
	if s.StorageDead || !w.Together {
		return None
	}
	for i := range w.Clients {
		if c := &s.Clients[i]; c.Doing.Verb != 0 && c.Life != dead {
			return None // it goes on, and nobody is to rely on it yet
		}
	}
	if s.torn(w) {
		return Torn
	}
	return None
}
