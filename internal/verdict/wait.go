package verdict

import (
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
		l.hitNetwork(e.Cause)
	default:
		return false
	}
	return true
}

func (l *lane) hitNetwork(cause string) {
	switch cause {
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
}

// wait is a client's lock that is under way.
type wait struct {
	client string
	since  int // the event from which on it waits for a free lock; 0: it does not
	told   bool
	killed bool
}

// grave is a tenure that nobody can renew.
type grave struct {
	since   int  // the event from which on it holds its lock dead; 0: it does not
	awaited bool // somebody waits for the lock meanwhile
	said    bool
}

// watch measures for how long locks are free, or held by the dead, while clients wait
// for them.
func (j *judge) watch(i int, e history.Event) {
	switch e.Kind {
	case history.KindGranted:
		j.measure(i, j.scope(e.Scope), false)
	case history.KindEnded:
		if t := j.tenures[e.Tenure]; t != nil {
			j.measure(i, t.scope, false)
		}
	case history.KindInvoke, history.KindOK, history.KindFail, history.KindUnknown:
		if e.Op == history.OpLock {
			j.await(i, e)
		}
	default:
		j.disturb(i, e)
	}
}

// await takes in that a client waits for a lock, or is told what became of that.
func (j *judge) await(i int, e history.Event) {
	s := j.scope(e.Scope)
	w := s.waitOf(e.Lane)
	switch asks := e.Kind == history.KindInvoke; {
	case asks && w == nil:
		s.waits = append(s.waits, &wait{client: e.Lane})
	case !asks && w != nil:
		w.told = true
	}
	j.measure(i, s, false)
}

// disturb takes in what may concern all locks: faults, and the end.
func (j *judge) disturb(i int, e history.Event) {
	isEnd := e.Kind == history.KindEnd
	if !j.lane(e.Lane).hit(i, e) && !isEnd {
		return
	}
	anew := isEnd || e.Lane == history.LaneLab || e.Lane == j.events[0].Run.LockService()
	for _, name := range slices.Sorted(maps.Keys(j.scopes)) {
		s := j.scopes[name]
		if w := s.waitOf(e.Lane); w != nil && e.Kind == history.KindKill {
			w.killed = true
		}
		j.measure(i, s, anew)
	}
}

// waitOf is the wait of a client; nil: it does not wait.
func (s *scope) waitOf(client string) *wait {
	for _, w := range s.waits {
		if w.client == client {
			return w
		}
	}
	return nil
}

// measure ends the times that an event ends, and begins those that it begins. anew
// says that it ends them all.
func (j *judge) measure(i int, s *scope, anew bool) {
	runs := !j.lane(history.LaneLab).hindered() && !j.lane(j.events[0].Run.LockService()).hindered()
	awaited := false
	for _, w := range s.waits {
		waits := !w.told && !w.killed && !j.lane(w.client).hindered()
		awaited = awaited || waits
		j.measureFree(i, s, w, runs && waits && len(s.open) == 0, anew)
	}
	for _, t := range s.holders {
		l := j.lane(t.client)
		dead := l.died > t.came || l.paused || l.cut
		j.measureDead(i, t, runs && t.holds && dead, awaited, anew)
	}
	s.waits = slices.DeleteFunc(s.waits, func(w *wait) bool { return w.told || w.killed })
	s.holders = slices.DeleteFunc(s.holders, func(t *tenure) bool { return !t.holds })
}

func (j *judge) measureFree(i int, s *scope, w *wait, free, anew bool) {
	if w.since > 0 && (!free || anew) {
		if took := j.between(w.since, i); !w.told && exceeds(took, j.events[0].Run.Handover) {
			j.violate(history.NotGranted, w.since, i, "%s waited for the lock %s, which was free, for %.3f s from %.3f s on",
				w.client, s.name, took.Seconds(), j.events[w.since].At.Seconds())
		}
		w.since = 0
	}
	if free && w.since == 0 {
		w.since = i
	}
}

func (j *judge) measureDead(i int, t *tenure, dead, awaited, anew bool) {
	g := &t.grave
	if g.awaited && !g.said && (!dead || !awaited || anew) {
		if took := j.between(g.since, i); exceeds(took, j.events[0].Run.Bounds[t.client]) {
			g.said = true
			j.violate(history.Orphaned, g.since, i, "%s was held for %.3f s from %.3f s on, though %s could not renew it, and somebody waited",
				t.scope.name, took.Seconds(), j.events[g.since].At.Seconds(), t.client)
		}
	}
	if !dead || anew {
		g.since = 0
	}
	if dead && g.since == 0 {
		g.since = i
	}
	g.awaited = dead && awaited
}

// between is the time between two events.
func (j *judge) between(first, last int) time.Duration { return j.events[last].At - j.events[first].At }

// exceeds reports whether a time is longer than a bound, where there is one.
func exceeds(took, bound time.Duration) bool { return bound > 0 && took > bound }
