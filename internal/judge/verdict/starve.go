package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// starving is the time before a line of history.KindStarved of which that tells.
const starving = time.Second

// hunger is who got no processor, line by line, and the tenures for whose end the story waits.
type hunger struct {
	lines   []int
	awaited map[string]bool
}

func newHunger(events []history.Event) hunger {
	h := hunger{awaited: make(map[string]bool)}
	for i, e := range events {
		switch e.Kind {
		case history.KindStarved:
			h.lines = append(h.lines, i)
		case history.KindAwaited:
			h.awaited[e.Tenure] = true
		}
	}
	return h
}

// starved says who of some lanes got no processor between two times, and longest; "" is nobody.
func (j *judge) starved(from, to time.Duration, lanes ...string) string {
	var most history.Event
	for _, i := range j.hunger.lines {
		e := j.events[i]
		if e.At > from && e.At-starving < to && slices.Contains(lanes, e.Lane) && (most.Kind == "" || e.Took > most.Took) {
			most = e
		}
	}
	if most.Kind == "" {
		return ""
	}
	return fmt.Sprintf("the machine gave %s no processor for %.1f s of the second before %.3f s", most.Lane, most.Took.Seconds(), most.At.Seconds())
}

// lacked is for how long, in all, some lanes got no processor between two events, each line taken whole.
func (j *judge) lacked(first, last int, lanes ...string) (all time.Duration) {
	for _, i := range j.hunger.lines {
		if e := j.events[i]; e.At > j.events[first].At && e.At-starving < j.events[last].At && slices.Contains(lanes, e.Lane) {
			all += e.Took
		}
	}
	return all
}

func (j *judge) serviceLane() string { return j.events[0].Run.LockService() }

// runOut notes that a lease ran out, and that the story did not let it, but the machine.
func (j *judge) runOut(i int, e history.Event, t *tenure) {
	faulty := func(name string) bool { l := j.lane(name); return l.hindered() || l.last > t.event }
	if e.Cause != history.CauseExpired || j.hunger.awaited[e.Tenure] || faulty(t.client) || faulty(j.serviceLane()) {
		return
	}
	why := j.starved(j.events[t.event].At, e.At, t.client, j.serviceLane())
	if why == "" {
		return
	}
	t.starved = fmt.Sprintf("%s's lease ran out at %.3f s, which the story did not want: %s", t.client, e.At.Seconds(), why)
	j.astray = append(j.astray, history.Violation{Kind: history.Starved, Before: -1, Event: i, Text: t.starved})
}

// gaveUp notes that something was not done, for which a client got no processor or those that it asked.
func (j *judge) gaveUp(i int, e history.Event) (why string) {
	asked := i - 1
	for asked >= 0 && !asks(j.events[asked], e) {
		asked--
	}
	if asked < 0 || e.Reason != "" {
		return ""
	}
	if why = j.starved(j.events[asked].At, e.At, e.Lane, j.serviceLane(), history.LaneStorage); why != "" {
		why = fmt.Sprintf("%s's %s failed at %.3f s: %s", e.Lane, e.Op, e.At.Seconds(), why)
		j.astray = append(j.astray, history.Violation{Kind: history.Starved, Before: asked, Event: i, Text: why})
	}
	return why
}

func asks(e, answer history.Event) bool {
	return e.Kind == history.KindInvoke && e.Lane == answer.Lane && e.Op == answer.Op && e.Scope == answer.Scope && e.Request == answer.Request
}

// excuse has what would be a violation be undecided, because the machine made it.
func (j *judge) excuse(kind history.ViolationKind, before, i int, what, why string) {
	j.undecided = append(j.undecided, history.Violation{Kind: history.Starved, Before: before, Event: i,
		Text: fmt.Sprintf("%s (%s). But %s", what, kind, why)})
}

// violateUnlessStarved says that a time was too long, less that for which lanes got no processor.
func (j *judge) violateUnlessStarved(kind history.ViolationKind, l lap, i int, bound time.Duration, what string, lanes ...string) (violated bool) {
	if l.took-j.lacked(l.since, i, lanes...) > bound {
		j.violate(kind, l.since, i, "%s", what)
		return true
	}
	j.excuse(kind, l.since, i, what, j.starved(j.events[l.since].At, j.events[i].At, lanes...))
	return false
}

// straying is where the machine may have made another story of the run; it stood still, too.
func (j *judge) straying() []history.Violation {
	for i, e := range j.events {
		if e.Kind == history.KindPause && e.Lane == history.LaneLab {
			j.astray = append(j.astray, history.Violation{Kind: history.Starved, Before: -1, Event: i, Text: fmt.Sprintf("the machine stood still at %.3f s", e.At.Seconds())})
		}
	}
	return j.astray
}
