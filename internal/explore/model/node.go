package model

import "math/bits"

// most reports whether a client that has so many nodes holds the lock.
func (w *Settings) most(nodes int) bool { return w.Nodes == 0 || 2*nodes > w.Nodes }

// answers reports whether enough nodes are alive for somebody to take the lock, or to release it.
func (s *State) answers(w *Settings) bool {
	return w.most(w.Nodes - bits.OnesCount8(s.Dead))
}

// dead reports whether a node was killed.
func (s *State) dead(node int) bool { return s.Dead>>node&1 != 0 }

// have is how many nodes have a tenure, or with 0 how many are free.
func (s *State) have(w *Settings, tenure uint8) (nodes int) {
	for k, t := range s.Nodes[:w.Nodes] {
		if t == tenure && (t != 0 || !s.dead(k)) {
			nodes++
		}
	}
	return nodes
}

// spread has each node that is free have the holder's tenure.
func (s *State) spread(w *Settings) {
	for k := range w.Nodes {
		if s.Nodes[k] == 0 && !s.dead(k) {
			s.Nodes[k] = s.Holder
		}
	}
}

// free takes a tenure from all nodes. One that is dead hears of no unlock.
func (s *State) free(w *Settings, tenure uint8, released bool) {
	for k := range w.Nodes {
		if s.Nodes[k] == tenure && !(released && s.dead(k)) {
			s.Nodes[k] = 0
		}
	}
}

// HasNode reports whether the model has a step about a node in this world.
func (w *Settings) HasNode(step Step) bool {
	return int(step.Node) < w.Nodes && (step.Verb != FillNode || w.Evicts != EvictsNothing)
}

// lapse frees the nodes of tenures that most nodes have lost. By then their clients know by their clocks that these are over.
func (s *State) lapse(w *Settings) {
	s.Nodes = [MaxNodes]uint8{}
	for i := range w.Clients {
		s.Clients[i].Unaware = s.Clients[i].Unaware && !w.Clients[i].Clock
	}
}

// node takes a step about a node; false: it cannot come.
func (m *Move) node(w *Settings, step Step) bool {
	s, k := &m.State, int(step.Node)
	switch {
	case !w.HasNode(step) || s.dead(k) != (step.Verb == RestartTheNode):
		return false
	case step.Verb == KillTheNode:
		s.Dead |= 1 << k
	case step.Verb == RestartTheNode:
		if s.Dead &^= 1 << k; !w.Persists {
			m.forgets(w, k, true)
		}
	default:
		m.forgets(w, k, step.Verb == FillNode && w.Evicts == EvictsAll)
	}
	return true
}

// forgets has a node lose the lock, and its numbers. Where there are several nodes none has numbers.
func (m *Move) forgets(w *Settings, k int, numbers bool) {
	s := &m.State
	s.Nodes[k] = 0
	if s.Holder != 0 && !w.most(s.have(w, s.Holder)) {
		m.lose(w)
	}
	if numbers && w.Nodes == 1 {
		s.Drawn = 0
	}
}

// lose ends the holder's tenure by a fault of the lock service.
func (m *Move) lose(w *Settings) {
	s := &m.State
	lost := s.Holder
	m.drop(w, false)
	for i := range w.Clients { // nobody tells those that go by their clocks
		if c := &s.Clients[i]; c.Has == lost && w.Clients[i].Clock {
			c.Unaware = true
		}
	}
}

// sameNode reports whether a node of a lower number is in the same state, so that both have the same future.
func (s *State) sameNode(k int) bool {
	for j := range k {
		if s.Nodes[j] == s.Nodes[k] && s.dead(j) == s.dead(k) {
			return true
		}
	}
	return false
}
