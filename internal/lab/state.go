package lab

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// state is what the run knows of its world, by the accounts so far.
type state struct {
	recorder *recorder
	clients  map[string]*clientState
	requests map[string]string // request → client
	done     map[string]bool   // requests that the storage told of
	owners   map[string]*owner // tenures
}

type clientState struct {
	reply   history.Event // the last
	replies int           // to commands
	notes   int
	tenure  string // the last that it was granted
	asked   map[string]bool
	frozen  history.Event // the pause that it is in
	moves   int           // pauses and resumes that it told of itself
	killed  bool
}

// owner is a tenure by two accounts: the lock service's, and that of the client
// that holds it.
type owner struct {
	client  string
	told    time.Duration // when the client was told of its grant
	granted bool          // the lock service says that it began
	held    []history.Event
	ended   bool
}

func newState(r *recorder) *state {
	return &state{
		recorder: r,
		clients:  make(map[string]*clientState),
		requests: make(map[string]string),
		done:     make(map[string]bool),
		owners:   make(map[string]*owner),
	}
}

func (s *state) client(name string) *clientState {
	c := s.clients[name]
	if c == nil {
		c = &clientState{asked: make(map[string]bool)}
		s.clients[name] = c
	}
	return c
}

func (s *state) owner(tenure string) *owner {
	o := s.owners[tenure]
	if o == nil {
		o = new(owner)
		s.owners[tenure] = o
	}
	return o
}

// take takes in one event of an account. Its At is still the time since 1970, as
// the process read it off its clock.
func (s *state) take(e history.Event) {
	e.At = s.recorder.since(time.Unix(0, int64(e.At)))
	switch e.Kind {
	case history.KindGranted, history.KindEnded:
		s.tenure(e)
		return
	case history.KindApplied, history.KindRefused:
		if e.Request == requestFinal {
			return
		}
		s.done[e.Request] = true
		e.Client = s.requests[e.Request]
	case history.KindInvoke:
		if e.Request != "" {
			s.requests[e.Request] = e.Lane
		}
		if e.Op == history.OpUnlock {
			s.client(e.Lane).asked[e.Tenure] = true
			s.recorder.releasedBy(e)
		}
	case history.KindOK, history.KindFail, history.KindUnknown:
		c := s.client(e.Lane)
		c.replies++
		c.reply = e
		if e.Kind == history.KindOK && (e.Op == history.OpLock || e.Op == history.OpTryLock) {
			c.tenure = e.Tenure
			s.recorder.add(e)
			s.own(e)
			return
		}
	case history.KindNote:
		s.client(e.Lane).notes++
		s.client(e.Lane).reply = e
	case history.KindPause, history.KindResume:
		s.client(e.Lane).moves++
		s.client(e.Lane).frozen = e
	}
	s.recorder.add(e)
}

// own is told by a client that it was granted a tenure.
func (s *state) own(e history.Event) {
	o := s.owner(e.Tenure)
	o.client, o.told = e.Lane, e.At
	for _, h := range o.held {
		s.tenure(h)
	}
	o.held = nil
}

// tenure is told by the observer that one began or ended. It does not know the
// client, whose word is waited for.
func (s *state) tenure(e history.Event) {
	o := s.owner(e.Tenure)
	if e.Kind == history.KindEnded {
		o.ended = true
	} else {
		o.granted = true
	}
	if o.client == "" {
		o.held = append(o.held, e)
		return
	}
	e.Client = o.client
	c := s.client(o.client)
	switch {
	case e.Kind == history.KindGranted:
		// It happened before the client was told of it, though the observer may
		// have been told later.
		e.At = min(e.At, o.told-1)
		s.recorder.endedBy(e)
	case c.asked[e.Tenure]:
		e.Cause = history.CauseReleased
	default:
		e.Cause = history.CauseExpired
		if c.frozen.Kind == history.KindPause || c.frozen.Kind == history.KindKill {
			e.Took = e.At - c.frozen.At
		}
	}
	s.recorder.add(e)
}
