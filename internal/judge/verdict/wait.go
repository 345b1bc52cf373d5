package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// lane is what hinders the one whom a lane is of.
type lane struct {
	paused, killed     bool
	cut, deaf, delayed bool // its network
	died               int  // the event of its last kill
	last               int  // the last event that tells of a fault or its end
}

func (l *lane) hindered() bool { return l.paused || l.killed || l.cut || l.deaf || l.delayed }

func (j *judge) lane(name string) *lane {
	l := j.lanes[name]
	if l == nil {
		l = new(lane)
		j.lanes[name] = l
	}
	return l
}

// hit takes in a fault or its end, and reports whether the event is one.
func (l *lane) hit(i int, e history.Event) bool {
	switch e.Kind {
	case history.KindPause:
		l.paused = true
	case history.KindResume:
		l.paused = false
	case history.KindKill:
		l.killed, l.died = true, i
	case history.KindRestart:
		l.paused, l.killed = false, false
	case history.KindNetwork:
		switch e.Cause {
		case history.CausePartition:
			l.cut = true
		case history.CauseDeafen:
			l.deaf = true
		case history.CauseDelay:
			l.delayed = true
		case history.CauseDeliver:
			l.delayed = false
		case history.CauseHeal:
			l.cut, l.deaf = false, false
		}
	default:
		return false
	}
	l.last = i
	return true
}

// wait is a client's lock that is under way.
type wait struct {
	client string
	free   stretch // it waits for a free lock
	said   bool    // that took too long
	told   bool
	killed bool
}

// grave is a tenure that nobody can renew, or will release.
type grave struct {
	dead         stretch // it holds its lock all the same
	why          string
	said, unsure bool
}

// stretch is how long a state lasts. Its time stops while machine or lock service stand still, and begins anew.
type stretch struct {
	since   int           // the event from which on the state lasts; 0: it does not
	anew    int           // the event from which on the time runs; 0: it does not
	ran     time.Duration // for how long it ran before
	awaited bool          // somebody waits meanwhile
}

// lap is a time since an event; zero: none has ended.
type lap struct {
	since int
	took  time.Duration
}

// tooLong reports whether a time is longer than a bound, where there is one.
func (l lap) tooLong(bound time.Duration) bool { return l.since > 0 && bound > 0 && l.took > bound }

// pass takes in an event, and how it is after it: whether the state lasts, its time runs and
// somebody waits. anew says that the time begins anew in any case. Where the event ends the
// time, or the waiting, one is the time without a break, and all that of the whole state.
func (j *judge) pass(s *stretch, i int, lasts, runs, awaited, anew bool) (one, all lap) {
	var took time.Duration
	if s.anew > 0 {
		took = j.events[i].At - j.events[s.anew].At
	}
	if s.awaited && (!lasts || !runs || !awaited || anew) {
		one = lap{s.anew, took}
	}
	if s.awaited && (!lasts || !awaited || j.isEnd(i)) {
		all = lap{s.since, s.ran + took}
	}
	switch {
	case !lasts:
		*s = stretch{}
	case !runs, anew:
		s.ran, s.anew = s.ran+took, 0
	}
	if lasts && s.since == 0 {
		s.since = i
	}
	if lasts && runs && s.anew == 0 {
		s.anew = i
	}
	s.awaited = lasts && awaited
	return one, all
}

// watch measures for how long locks are free, or held by the dead, while clients wait for them; and for how long
// clients wait for each other.
func (j *judge) watch(i int, e history.Event) {
	switch {
	case e.Kind == history.KindGranted:
		j.measureOne(i, j.scope(e.Scope))
	case e.Kind == history.KindEnded:
		if t := j.tenures[e.Tenure]; t != nil {
			j.measureOne(i, t.scope)
		}
	case ofLock(e):
		j.await(i, e)
	default:
		j.disturb(i, e)
	}
}

// await takes in that a client asks for a lock, and perhaps waits for it, or is told what became of that.
func (j *judge) await(i int, e history.Event) {
	s := j.scope(e.Scope)
	w := s.waitOf(e.Lane)
	switch asks := e.Kind == history.KindInvoke; {
	case e.Op == history.OpTryLock:
	case asks && w == nil:
		s.waits = append(s.waits, &wait{client: e.Lane})
	case !asks && w != nil:
		w.told = true
	}
	j.measureOne(i, s)
}

// disturb takes in what may concern all locks: faults, and the end.
func (j *judge) disturb(i int, e history.Event) {
	if !j.lane(e.Lane).hit(i, e) && !j.isEnd(i) {
		return
	}
	if e.Kind == history.KindKill {
		j.questions.kill(e.Lane)
	}
	anew := j.isEnd(i) || e.Lane == history.LaneLab || e.Lane == j.events[0].Run.LockService()
	for _, name := range slices.Sorted(maps.Keys(j.scopes)) {
		s := j.scopes[name]
		if w := s.waitOf(e.Lane); w != nil && e.Kind == history.KindKill {
			w.killed = true
		}
		j.measure(i, s, anew)
	}
	j.measureCycles(i, anew)
}

func (s *scope) waitOf(client string) *wait {
	for _, w := range s.waits {
		if w.client == client {
			return w
		}
	}
	return nil
}

// runs reports whether the times run: neither the machine nor the lock service stands still.
func (j *judge) runs() bool {
	return !j.lane(history.LaneLab).hindered() && !j.lane(j.events[0].Run.LockService()).hindered()
}

// measureOne measures where an event concerns one lock.
func (j *judge) measureOne(i int, s *scope) {
	j.measure(i, s, false)
	j.measureCycles(i, false)
}

// measure ends the times of a lock that an event ends, with anew all, and begins those that it begins.
func (j *judge) measure(i int, s *scope, anew bool) {
	runs, awaited := j.runs(), false
	for _, w := range s.waits {
		waits := !w.told && !w.killed && !j.lane(w.client).hindered()
		awaited = awaited || waits
		j.measureFree(i, s, w, waits && len(s.open) == 0, runs, anew)
	}
	for _, t := range s.holders {
		j.measureDead(i, t, j.dead(t), runs, awaited, anew)
	}
	s.waits = slices.DeleteFunc(s.waits, func(w *wait) bool { return w.told || w.killed })
	s.holders = slices.DeleteFunc(s.holders, func(t *tenure) bool { return !t.holds })
}

// dead says why nobody can renew a tenure, or will release it; "" where that is not so.
func (j *judge) dead(t *tenure) string {
	q := j.questions.of[t.name]
	switch l := j.lane(t.client); {
	case l.died > t.came || l.paused || l.cut, q != nil && q.killed:
		return "could not renew it"
	case j.questions.givenUp(t):
		return "had given up and did not know"
	}
	return ""
}

func (j *judge) measureFree(i int, s *scope, w *wait, free, runs, anew bool) {
	what := func(l lap) string {
		return fmt.Sprintf("%s waited for the lock %s, which was free, for %.3f s from %.3f s on",
			w.client, s.name, l.took.Seconds(), j.events[l.since].At.Seconds())
	}
	bound := j.events[0].Run.Handover
	one, all := j.pass(&w.free, i, free, runs, true, anew)
	if one.tooLong(bound) && !w.told {
		w.said = true
		j.violateUnlessStarved(history.NotGranted, one, i, bound, what(one), w.client, j.serviceLane())
	}
	if all.tooLong(bound) && !w.told && !w.said {
		j.unmeasured(all.since, i, what(all))
	}
	w.said = w.said && all.since == 0
}

func (j *judge) measureDead(i int, t *tenure, why string, runs, awaited, anew bool) {
	what := func(l lap) string {
		return fmt.Sprintf("%s was held for %.3f s from %.3f s on, though %s %s, and somebody waited",
			t.scope.name, l.took.Seconds(), j.events[l.since].At.Seconds(), t.client, t.grave.why)
	}
	g, bound := &t.grave, j.events[0].Run.Bounds[t.client]
	if g.dead.since == 0 {
		g.why = why
	}
	one, all := j.pass(&g.dead, i, t.holds && why != "", runs, awaited, anew)
	if one.tooLong(bound) && !g.said {
		g.unsure = true
		g.said = j.violateUnlessStarved(history.Orphaned, one, i, bound, what(one), j.serviceLane())
	}
	if all.tooLong(bound) && !g.said && !g.unsure {
		g.unsure = true
		j.unmeasured(all.since, i, what(all))
	}
}

func (j *judge) unmeasured(since, i int, what string) {
	j.undecided = append(j.undecided, history.Violation{Kind: history.Unmeasured, Before: since, Event: i,
		Text: what + ". Meanwhile the machine or the lock service stood still, so nobody knows whether that was too long"})
}

func (j *judge) isEnd(i int) bool { return j.events[i].Kind == history.KindEnd }
