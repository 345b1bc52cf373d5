package verdict

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

type judge struct {
	events   []history.Event
	scopes   map[string]*scope
	tenures  map[string]*tenure
	told     map[string][]told
	tries    map[string]try // client → its last
	requests map[string]*request
	written  map[string][]int  // key → events that changed it, the last one last
	guards   map[string]*scope // key → the lock under which it was last used
	changes  map[string][]int  // of a client to a key in a tenure, in the order in which they were applied
	sets     []*set
	last     int // storage event
	restart  int // of the storage: the last event of it

	final      map[string]string
	stale      int
	refused    int
	disordered bool
	violations []Violation
}

func newJudge(events []history.Event) *judge {
	j := &judge{
		events:   events,
		scopes:   make(map[string]*scope),
		tenures:  make(map[string]*tenure),
		told:     make(map[string][]told),
		tries:    make(map[string]try),
		requests: make(map[string]*request),
		written:  make(map[string][]int),
		guards:   make(map[string]*scope),
		changes:  make(map[string][]int),
		final:    make(map[string]string),
	}
	for _, keys := range events[0].Run.Together {
		j.sets = append(j.sets, newSet(keys))
	}
	j.hear()
	return j
}

func (j *judge) judge(i int, e history.Event) {
	switch e.Kind {
	case history.KindGranted:
		j.grant(i, e)
	case history.KindEnded:
		j.end(e)
	case history.KindQueued:
		j.scope(e.Scope).comers++
	case history.KindInvoke:
		if e.Op == history.OpTryLock {
			j.try(e)
		}
	case history.KindApplied:
		j.apply(i, e)
		j.last = i
	case history.KindRefused:
		if !j.more(e) {
			j.refuse(i, e)
		}
		j.last = i
	case history.KindFail, history.KindUnknown:
		if e.Op == history.OpLock || e.Op == history.OpTryLock {
			j.notGranted(i, e)
		}
	case history.KindRestart:
		if e.Lane == history.LaneStorage {
			j.restart = i
		}
	case history.KindFinal:
		if !e.Missing {
			j.final[e.Key] = e.Value
		}
		j.compareValue(i, e)
		for _, s := range j.sets {
			j.torn(s, i, e, nil)
		}
	}
}

// more reports whether a storage event is of the same request as the one before:
// one of several keys is told of once for each.
func (j *judge) more(e history.Event) bool {
	before := j.events[j.last]
	return e.Request != "" && before.Request == e.Request && before.Kind == e.Kind
}

func (j *judge) apply(i int, e history.Event) {
	r := j.requests[e.Request]
	t, order := j.tenureOf(r), 0 // a request of no tenure comes before all
	s := j.guard(e)
	if t != nil {
		s, order = t.scope, t.order
		j.guards[e.Key] = s
	}
	if e.Op == history.OpRead {
		j.compareValue(i, e)
	} else if order < s.latestTenure && (r == nil || !r.stale) {
		how := "%s was applied after %s of a later tenure"
		if order == 0 {
			how = "%s was applied, though its client did not hold the lock, after %s, whose client did"
		}
		j.violate(history.Corrupted, s.latest, i, how, j.name(i), j.name(s.latest))
		if r != nil {
			r.stale = true
		}
	}
	if order > 0 && order >= s.latestTenure {
		s.latest, s.latestTenure = i, order
	}
	if t != nil {
		j.share(i, r, t)
		t.sequence = max(t.sequence, e.Sequence)
	}
	j.late(i, e, r)
	for _, s := range j.sets {
		j.torn(s, i, e, t)
	}
	if e.Op != history.OpRead {
		j.written[e.Key] = append(j.written[e.Key], i)
	}
	if r != nil {
		r.applied = append(r.applied, i)
	}
}

// tenureOf is the tenure under which a request was made, by its client's word;
// nil where the client held none, as one that still waits in the queue.
func (j *judge) tenureOf(r *request) *tenure {
	if r == nil {
		return nil
	}
	return j.tenures[r.tenure]
}

// guard is the lock of a request of no tenure: that of the key, as far as is
// known, else the one that the request names.
func (j *judge) guard(e history.Event) *scope {
	if s := j.guards[e.Key]; s != nil {
		return s
	}
	return j.scope(e.Scope)
}

func (j *judge) refuse(i int, e history.Event) {
	j.refused++
	if e.Reason == "stale" {
		j.stale++
	}
	t := j.tenureOf(j.requests[e.Request])
	switch {
	case t == nil || t.scope.current != t:
	case e.Token == 0: // it did not show that it holds the lock
	case e.Token == e.Mark && e.Sequence > 0 && e.Sequence < t.sequence: // a later request of the same tenure was done
	case e.Reason == "ahead" && e.Token != t.token: // it showed what nobody was granted
	default:
		j.violate(history.Blocked, t.event, i, "%s was refused (%s), but its client held the lock", j.name(i), e.Reason)
	}
}

func (j *judge) violate(verdict string, before, event int, format string, args ...any) {
	j.violations = append(j.violations, Violation{Verdict: verdict, Before: before, Event: event, Text: fmt.Sprintf(format, args...)})
}

// name is a storage event as people call it.
func (j *judge) name(i int) string {
	e := j.events[i]
	client := e.Client
	if r := j.requests[e.Request]; r != nil {
		client = r.client
	}
	what := fmt.Sprintf("%s of %s", e.Op, e.Key)
	if e.Op == history.OpWrite {
		what = fmt.Sprintf("write %s=%s", e.Key, e.Value)
	}
	return fmt.Sprintf("%s's %s at %.3f s", client, what, e.At.Seconds())
}
