package hunt

import "github.com/fencelab/fencelab/internal/history"

// state is what faults have done so far.
type state struct {
	still, killed, cut map[string]bool   // lanes
	holders            map[string]holder // by tenure
	leader             string            // of the lock service's nodes
	stands             map[string]bool   // nodes that do nothing
}

// holder is a client that has a lock.
type holder struct {
	client string
	killed bool // before the grant, or after it
}

func stateOf(events []history.Event) *state {
	s := &state{
		still: make(map[string]bool), killed: make(map[string]bool), cut: make(map[string]bool),
		holders: make(map[string]holder), stands: make(map[string]bool),
	}
	for _, e := range events {
		s.take(e)
	}
	return s
}

func (s *state) take(e history.Event) {
	nodes := e.Nodes
	if e.Run != nil {
		nodes = e.Run.Nodes
	}
	for _, n := range nodes {
		if n.Leads {
			s.leader = n.Name
		}
		s.stands[n.Name] = n.State == history.NodeDead || n.State == history.NodePaused
	}
	switch e.Kind {
	case history.KindPause:
		s.still[e.Lane] = true
	case history.KindKill:
		s.still[e.Lane], s.killed[e.Lane] = true, true
		for tenure, h := range s.holders {
			if h.client == e.Lane {
				s.holders[tenure] = holder{h.client, true}
			}
		}
	case history.KindResume:
		delete(s.still, e.Lane)
	case history.KindRestart:
		delete(s.still, e.Lane)
		delete(s.killed, e.Lane)
	case history.KindNetwork:
		s.cut[e.Lane] = e.Cause != history.CauseHeal && (s.cut[e.Lane] || e.Cause == history.CausePartition || e.Cause == history.CauseDeafen)
	case history.KindGranted:
		s.holders[e.Tenure] = holder{e.Client, s.killed[e.Client]}
	case history.KindEnded:
		delete(s.holders, e.Tenure)
	}
}

// holderKilled reports whether a lock is held by a client that was killed, and whose network does not keep that from the
// lock service.
func (s *state) holderKilled() bool {
	for _, h := range s.holders {
		if h.killed && !s.cut[h.client] {
			return true
		}
	}
	return false
}
