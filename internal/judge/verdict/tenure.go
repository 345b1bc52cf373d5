package verdict

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// scope is what the lock service and the storage did about one lock.
type scope struct {
	name    string
	granted int       // tenures so far
	open    []*tenure // that are not over
	holders []*tenure // the one that was granted last, and those that share the lock with it; until an event is judged also those that it ends or overtakes
	comers  int       // how often somebody came to hold it or to queue for it
	token   fence.Token
	waits   []*wait
	// Of all tenures so far, and of the exclusive ones, the one that came last; nil: there is none.
	latest, latestAlone *tenure
	// What was done under it: by tenures of either mode, by exclusive ones, and what these changed.
	used, usedAlone, changedAlone work
	// Shared tenures that have begun their work, and that none of the others has outrun.
	current []*tenure
}

// work is the event by which the latest tenure so far did something, and its place in their order.
type work struct{ event, tenure int }

func (w *work) note(i int, t *tenure) {
	if t.order >= w.tenure {
		*w = work{i, t.order}
	}
}

type tenure struct {
	name     string
	order    int // of its grant in the scope, from 1
	scope    *scope
	client   string
	came     int  // the event by which it came
	holds    bool // the lock
	grave    grave
	event    int         // by which it was granted
	granted  int         // the place of that in the order of judgement
	over     bool        // it has ended
	ended    int         // at this place
	starved  string      // why, where the machine ended it and not the story
	token    fence.Token // by the lock service's account
	mode     fence.Mode
	worked   map[string]int // client → its last request that was applied
	said     bool           // that two of them did
	sequence int64          // the highest of its requests that were applied, or had no answer
	// A shared tenure has begun its work, and the first change under another one since; 0: none.
	begun  bool
	outrun int
}

func (t *tenure) together(u *tenure) bool { return t.mode == fence.Shared && u.mode == fence.Shared }

func (j *judge) scope(name string) *scope {
	s := j.scopes[name]
	if s == nil {
		s = &scope{name: name}
		j.scopes[name] = s
	}
	return s
}

func (j *judge) grant(i int, e history.Event) {
	s := j.scope(e.Scope)
	s.comers++
	s.granted++
	t := &tenure{
		name: e.Tenure, order: s.granted, scope: s, client: e.Client, came: j.came[e.Tenure], holds: true,
		event: i, granted: j.place, token: e.Token, mode: e.Mode, worked: make(map[string]int),
	}
	conflicts := func(o *tenure) bool { return !t.together(o) }
	if before := lastOf(s.open, conflicts); before != nil {
		j.overlaps = append(j.overlaps, history.Violation{Kind: history.Overlap, Before: before.event, Event: i, Text: fmt.Sprintf(
			"%s was granted %s at %.3f s, and the tenure of %s was not over", e.Client, e.Scope, e.At.Seconds(), j.events[before.event].Client)})
	}
	s.open = append(s.open, t)
	for _, o := range s.holders {
		o.holds = o.holds && !conflicts(o)
	}
	s.holders = append(s.holders, t)
	j.tenures[e.Tenure] = t
	j.compareComing(t)
	before := s.token
	for _, told := range j.told[e.Tenure] {
		if told.token != 0 {
			j.disordered = j.disordered || told.token <= before
			s.token = max(s.token, told.token)
		}
	}
}

func (j *judge) end(i int, e history.Event) {
	t := j.tenures[e.Tenure]
	if t == nil {
		return
	}
	t.over, t.ended, t.holds = true, j.place, false
	j.runOut(i, e, t)
	t.scope.open = slices.DeleteFunc(t.scope.open, func(o *tenure) bool { return o == t })
}

func (s *scope) share(i int, e history.Event, t *tenure) {
	if !t.begun {
		t.begun = true
		s.current = append(s.current, t)
	}
	if e.Op == history.OpRead {
		return
	}
	s.current = slices.DeleteFunc(s.current, func(o *tenure) bool {
		if o != t {
			o.outrun = i
		}
		return o != t
	})
}

// lastOf is the last tenure of which yes is true; nil: there is none.
func lastOf(tenures []*tenure, yes func(*tenure) bool) *tenure {
	for _, t := range slices.Backward(tenures) {
		if yes(t) {
			return t
		}
	}
	return nil
}

type asked struct{ client, lock string }

// try is an attempt to take a lock that does not wait.
type try struct {
	free   bool // nobody held it
	comers int
}

func (j *judge) try(e history.Event) {
	s := j.scope(e.Scope)
	j.tries[asked{e.Lane, e.Scope}] = try{free: len(s.open) == 0, comers: s.comers}
}

// notGranted judges that a client did not get a lock; starved says that the machine may be the reason.
func (j *judge) notGranted(i int, e history.Event, starved string) {
	s := j.scope(e.Scope)
	// Who gives the lock back, too late or from too few nodes, is told so when the tenure ends.
	free := !slices.ContainsFunc(s.open, func(t *tenure) bool {
		return e.Kind != history.KindFail || t.client != e.Lane || !j.questions.givenUp(t)
	})
	if e.Op == history.OpTryLock {
		// Two attempts that come together may both be told that they came too late, and do not count.
		t := j.tries[asked{e.Lane, e.Scope}]
		free = t.free && t.comers == s.comers
	} else {
		free = free && !j.handsOver(i, e) && !j.justFreed(i, e)
	}
	// With a reason, the client did not ask, or lost its place in the queue with its own lease.
	what := fmt.Sprintf("%s did not get the lock %s, which was free", e.Lane, e.Scope)
	switch {
	case !free || e.Reason != "":
	case starved != "":
		j.excuse(history.NotGranted, -1, i, what, starved)
	default:
		j.violate(history.NotGranted, -1, i, "%s", what)
	}
}

// handsOver reports whether the lock is on its way to another client, which waits for it: a database that ends a
// deadlock tells one client so in the moment in which the other one gets the lock.
func (j *judge) handsOver(i int, e history.Event) bool {
	handover := j.events[0].Run.Handover
	return handover > 0 && slices.ContainsFunc(j.events[i+1:], func(later history.Event) bool {
		return later.Kind == history.KindGranted && later.Scope == e.Scope && later.At <= e.At+handover &&
			later.Client != e.Lane && j.scope(e.Scope).waitOf(later.Client) != nil
	})
}

// justFreed reports whether another client's tenure ended while the client waited, so late that the next grant may
// still have been on its way when the client was told.
func (j *judge) justFreed(i int, told history.Event) bool {
	handover := j.events[0].Run.Handover
	if handover == 0 {
		return false
	}
	for _, e := range slices.Backward(j.events[:i]) {
		switch t := j.tenures[e.Tenure]; {
		case e.Kind == history.KindInvoke && e.Op == history.OpLock && e.Lane == told.Lane && e.Scope == told.Scope:
			return false
		case e.Kind == history.KindEnded && t != nil && t.scope.name == told.Scope && t.client != told.Lane:
			return told.At <= e.At+handover
		}
	}
	return false
}

// share finds two clients at work in one tenure.
func (j *judge) share(i int, a *attempt, t *tenure) {
	for _, client := range slices.Sorted(maps.Keys(t.worked)) {
		if !t.said && client != a.client && j.wasTold(client, a.tenure) && j.wasTold(a.client, a.tenure) {
			t.said = true
			j.violate(history.Shared, t.worked[client], i, "%s was applied in the tenure that %s works in as well: both were told that the lock is theirs", j.name(i), client)
		}
	}
	t.worked[a.client] = i
}

func (j *judge) wasTold(client, tenure string) bool {
	return slices.ContainsFunc(j.told[tenure], func(t told) bool { return t.client == client })
}
