package verdict

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

type judge struct {
	events    []history.Event
	scopes    map[string]*scope
	tenures   map[string]*tenure
	told      map[string][]told
	tries     map[asked]try // the last ones
	attempts  map[string]*attempt
	written   map[string][]*change // key → the changes of it, the last one last
	guards    map[string]*scope    // key → the lock under which it was last used
	newest    map[own]acknowledged
	sets      []*set
	lanes     map[string]*lane
	cycles    []*cycle
	hunger    hunger // nothing, unless the run is not as expected
	questions questions
	came      map[string]int    // tenure → the event by which it came
	queues    bool              // the lock service tells of its queue
	open      map[string]bool   // keys of which a change had no answer: nobody knows what they hold
	place     int               // of the event that is judged, in the order of judgement
	gone      map[int][]*change // restart of the storage → changes that are gone since, of each key the last one first

	final      map[string]string
	stale      int
	refused    int
	disordered bool
	violations []history.Violation
	overlaps   []history.Violation
	passed     []history.Violation
	undecided  []history.Violation
	astray     []history.Violation // where the machine may have made another story of it
}

func newJudge(events []history.Event) *judge {
	j := &judge{
		events: events, scopes: make(map[string]*scope), tenures: make(map[string]*tenure), told: make(map[string][]told),
		tries: make(map[asked]try), attempts: make(map[string]*attempt), written: make(map[string][]*change), guards: make(map[string]*scope),
		newest: make(map[own]acknowledged), lanes: make(map[string]*lane),
		questions: questions{open: make(map[asked][]*question), of: make(map[string]*question), known: make(map[word]bool)},
		came:      make(map[string]int), open: make(map[string]bool), final: make(map[string]string),
	}
	for _, keys := range events[0].Run.Together {
		j.sets = append(j.sets, &set{keys: keys, said: make(map[int]bool)})
	}
	j.hear()
	return j
}

func (j *judge) judge(i int, e history.Event) {
	if ofLock(e) {
		j.questions.hear(e)
	}
	switch e.Kind {
	case history.KindGranted:
		j.come(i, e)
		j.grant(i, e)
	case history.KindEnded:
		j.end(i, e)
	case history.KindQueued:
		j.come(i, e)
		j.queues = true
		j.scope(e.Scope).comers++
	case history.KindInvoke:
		if e.Op == history.OpTryLock {
			j.try(e)
		}
	case history.KindApplied:
		j.apply(i, e)
	case history.KindRefused:
		j.refuse(i, e)
	case history.KindUnanswered:
		j.leave(i, e)
	case history.KindOK:
		if a := j.attempts[e.Request]; a != nil {
			j.acknowledge(a)
		}
	case history.KindFail, history.KindUnknown:
		if why := j.gaveUp(i, e); ofLock(e) {
			j.notGranted(i, e, why)
		}
	case history.KindRestart:
		for _, c := range j.gone[i] {
			j.forget(c)
		}
	case history.KindFinal:
		if !e.Missing {
			j.final[e.Key] = e.Value
		}
		for _, s := range j.sets {
			j.torn(s, i, e, nil)
		}
	}
	j.watch(i, e)
}

func (j *judge) apply(i int, e history.Event) {
	a := j.attempt(e)
	t := j.tenures[a.tenure] // nil where the client held no lock, as one that still waits in the queue
	j.stray(i, e, a, t)
	if t != nil && e.Op != history.OpRead {
		j.outrun(i, a, t)
	}
	if e.Op != history.OpRead {
		j.late(i, e, a)
		if t != nil {
			j.guarded(i, e, a, t)
		}
		a.keys = append(a.keys, e.Key)
		if a.first < 0 {
			a.first = i
		}
		j.written[e.Key] = append(j.written[e.Key], &change{event: i, place: j.place, by: a, tenure: t})
		if a.whole != nil {
			a.whole.done[e.Key]++
		}
	}
	if t != nil {
		j.use(i, e, a, t)
	}
	for _, s := range j.sets {
		j.torn(s, i, e, t)
	}
}

// forget takes back a change that is gone, the last one of its key.
func (j *judge) forget(gone *change) {
	key := j.events[gone.event].Key
	j.written[key] = j.written[key][:len(j.written[key])-1]
	if w := gone.by.whole; w != nil {
		w.done[key]--
	}
}

func (j *judge) lastOf(key string) *change {
	changes := j.written[key]
	if len(changes) == 0 {
		return nil
	}
	return changes[len(changes)-1]
}

func (j *judge) use(i int, e history.Event, a *attempt, t *tenure) {
	j.guards[e.Key] = t.scope
	t.scope.used.note(i, t)
	if t.mode == fence.Exclusive {
		t.scope.usedAlone.note(i, t)
		if e.Op != history.OpRead {
			t.scope.changedAlone.note(i, t)
		}
	} else {
		t.scope.share(i, e, t)
	}
	j.share(i, a, t)
	t.sequence = max(t.sequence, e.Sequence)
}

// stray finds, once for each attempt, what came after a later tenure, or, of none, after any, began its work.
func (j *judge) stray(i int, e history.Event, a *attempt, t *tenure) {
	harm, order := j.overtaking(e, t), 0
	kind, how := history.Unheld, "%s was applied without the lock, after %s with the lock"
	if t != nil {
		order = t.order
		kind, how = history.Stale, "%s was applied after %s of a later tenure"
	}
	what := func() string { return fmt.Sprintf(how, j.name(i), j.name(harm.event)) }
	switch {
	case order >= harm.tenure || a.stray:
	case t != nil && t.starved != "":
		j.excuse(kind, harm.event, i, what(), t.starved)
	default:
		a.stray = true
		j.violate(kind, harm.event, i, "%s", what())
	}
}

// outrun finds a change under a shared tenure, made from what another one that shares the lock has changed.
func (j *judge) outrun(i int, a *attempt, t *tenure) {
	if t.outrun > 0 && !a.stray {
		a.stray = true
		j.violate(history.Stale, t.outrun, i, "%s was applied after %s, of which its client knew nothing when it began its work",
			j.name(i), j.name(t.outrun))
	}
}

// overtaking is the latest work after which what is done under t comes too late. Who shares a lock relies on
// what it reads. A reader that holds a lock alone will write, and that comes too late then.
func (j *judge) overtaking(e history.Event, t *tenure) work {
	read := e.Op == history.OpRead
	switch {
	case t == nil && !read:
		return j.guard(e).used
	case t == nil || t.mode == fence.Exclusive && read:
		return work{}
	case t.mode == fence.Exclusive:
		return t.scope.used
	case read:
		return t.scope.changedAlone
	}
	return t.scope.usedAlone
}

// guard is the lock of a request of no tenure: the key's, if known, else the one that the request names.
func (j *judge) guard(e history.Event) *scope {
	if s := j.guards[e.Key]; s != nil {
		return s
	}
	return j.scope(e.Scope)
}

// guarded finds a key that two clients change under two locks at a time: no lock guards it.
func (j *judge) guarded(i int, e history.Event, a *attempt, t *tenure) {
	last := j.lastOf(e.Key)
	if last == nil || j.open[e.Key] {
		return
	}
	u := last.tenure
	if u == nil || u.scope == t.scope || last.by.client == a.client || u.over && u.ended < t.granted {
		return
	}
	j.violate(history.Unguarded, last.event, i, "%s, under the lock %s, destroys %s, under the lock %s: no lock guards %s",
		j.name(i), t.scope.name, j.name(last.event), u.scope.name, e.Key)
}

// refuse judges a refusal, once for each attempt: one at several keys is told of once for each key.
func (j *judge) refuse(i int, e history.Event) {
	a := j.attempt(e)
	if a.refused {
		return
	}
	a.refused = true
	j.refused++
	if e.Reason == "stale" {
		j.stale++
	}
	t := j.tenures[a.tenure]
	switch {
	case t == nil || !t.holds:
	case e.Token == 0: // it did not show that it holds the lock
	case e.Token == e.Mark && e.Sequence > 0 && e.Sequence < t.sequence: // a later request of the same tenure was done
	case e.Reason == "ahead" && e.Token != t.token: // it showed what nobody was granted
	default:
		j.violate(history.Refusal, t.event, i, "%s was refused (%s), but its client held the lock", j.name(i), e.Reason)
	}
}

// leave takes in, once for each attempt, that a request had no answer: it may be done later, or never.
func (j *judge) leave(i int, e history.Event) {
	a := j.attempt(e)
	if t := j.tenures[a.tenure]; t != nil {
		t.sequence = max(t.sequence, e.Sequence)
	}
	if e.Op != history.OpRead {
		j.open[e.Key] = true
	}
	if !a.left {
		a.left = true
		text := j.name(i) + " had no answer"
		if e.Text != "" {
			text += ": " + e.Text
		}
		j.undecided = append(j.undecided, history.Violation{Kind: history.Unanswered, Before: -1, Event: i, Text: text})
	}
}

var blocking = []history.ViolationKind{history.Refusal, history.NotGranted, history.Orphaned, history.Deadlocked}

func (j *judge) violate(kind history.ViolationKind, before, event int, format string, args ...any) {
	verdict := history.Corrupted
	if slices.Contains(blocking, kind) {
		verdict = history.Blocked
	}
	j.violations = append(j.violations, history.Violation{
		Verdict: verdict, Kind: kind, Before: before, Event: event, Text: fmt.Sprintf(format, args...),
	})
}

// name is a storage event as people call it.
func (j *judge) name(i int) string {
	e := j.events[i]
	what := fmt.Sprintf("%s of %s", e.Op, e.Key)
	if e.Op == history.OpWrite {
		what = fmt.Sprintf("write %s=%s", e.Key, e.Value)
	}
	who := j.attempt(e).client + "'s " + what
	if e.At == 0 { // a model's story has no time
		return who
	}
	return fmt.Sprintf("%s at %.3f s", who, e.At.Seconds())
}
