package lab

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// recorder puts events of several accounts in the order of their times. Their pipes differ in speed, so it
// keeps them until a step is over: by then all that belongs to it has arrived.
type recorder struct {
	emit  func([]history.Event)
	began time.Time
	fresh []history.Event // of the step
	old   []history.Event // in order, of the steps before

	slot   func(tenure string) string // what an unlock of a tenure frees
	places map[word]int               // in the lock service's account
	ends   map[string][]int           // slot → ends of its tenures in fresh
	strays map[string][]int           // request → what the storage did, in fresh, for nobody known yet
}

func newRecorder(emit func([]history.Event), slot func(string) string) *recorder {
	if emit == nil {
		emit = func([]history.Event) {}
	}
	return &recorder{
		emit: emit, slot: slot, began: time.Now(),
		places: make(map[word]int), ends: make(map[string][]int), strays: make(map[string][]int),
	}
}

// begin sets the time to 0. What was recorded before is forgotten.
func (r *recorder) begin(run history.Run) {
	r.began, r.fresh = time.Now(), nil
	r.old = []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &run}}
	r.emit(r.old)
}

func (r *recorder) now() time.Duration { return time.Since(r.began) }

// since turns a time that another process has read off its clock into one of this run.
func (r *recorder) since(t time.Time) time.Duration { return t.Sub(r.began) }

// add records an event. By another clock it may have been before the run: nothing was.
func (r *recorder) add(e history.Event) {
	e.At = max(e.At, 0)
	switch i := len(r.fresh); {
	case e.Kind == history.KindEnded:
		r.ends[r.slot(e.Tenure)] = append(r.ends[r.slot(e.Tenure)], i)
	case e.Lane == history.LaneStorage && e.Client == "":
		r.strays[e.Request] = append(r.strays[e.Request], i)
	}
	r.fresh = append(r.fresh, e)
}

// tells notes a grant's or an end's place in the lock service's account, though it may be recorded later.
func (r *recorder) tells(e history.Event) {
	if _, known := r.places[placeOf(e)]; !known {
		r.places[placeOf(e)] = len(r.places)
	}
}

// word is one of the lock service's account: no tenure begins or ends twice.
type word struct {
	kind   history.Kind
	tenure string
}

func placeOf(e history.Event) word { return word{e.Kind, e.Tenure} }

// inAccountOrder puts the grants and ends of each lock in the order of the lock service's account, which is sure.
// An observer can hear late: a time that is later than that of the next grant or end becomes that time.
func (r *recorder) inAccountOrder(events []history.Event) {
	locks := make(map[string][]int) // where such an event is
	for i, e := range events {
		if _, is := r.places[placeOf(e)]; is {
			locks[e.Scope] = append(locks[e.Scope], i)
		}
	}
	for _, places := range locks {
		words := make([]history.Event, len(places))
		for n, i := range places {
			words[n] = events[i]
		}
		slices.SortFunc(words, func(a, b history.Event) int { return r.places[placeOf(a)] - r.places[placeOf(b)] })
		for n := len(words) - 1; n >= 0; n-- {
			if n+1 < len(words) {
				words[n].At = min(words[n].At, words[n+1].At)
			}
			events[places[n]] = words[n]
		}
	}
}

// releasedBy marks the end of a tenure as a release: its client told later that it lets go.
func (r *recorder) releasedBy(unlock history.Event) {
	for _, i := range r.ends[r.slot(unlock.Tenure)] {
		if unlock.At <= r.fresh[i].At {
			r.fresh[i].Cause, r.fresh[i].Took, r.fresh[i].Text = history.CauseReleased, 0, ""
		}
	}
}

// grantedBefore has a grant be before its client was told, though the lock service told of it later.
func (r *recorder) grantedBefore(told time.Duration, tenure string) {
	grant := word{history.KindGranted, tenure}
	for _, events := range [][]history.Event{r.fresh, r.old} {
		for i, e := range slices.Backward(events) {
			if placeOf(e) == grant {
				events[i].At = min(e.At, told-1)
				return
			}
		}
	}
}

// askedBy names the client of what the storage did: the client told of it later.
func (r *recorder) askedBy(ask history.Event) {
	for _, i := range r.strays[ask.Request] {
		r.fresh[i].Client = ask.Lane
	}
}

func (r *recorder) flush() {
	r.inAccountOrder(r.fresh)
	history.Sort(r.fresh)
	if len(r.fresh) > 0 {
		r.emit(r.fresh)
	}
	r.old = append(r.old, r.fresh...)
	r.fresh = nil
	clear(r.ends)
	clear(r.strays)
}

// soFar are all events until now, in order. Of what is under way another account may yet tell.
func (r *recorder) soFar() []history.Event {
	events := slices.Concat(r.old, r.fresh)
	r.inAccountOrder(events)
	history.Sort(events)
	return events
}

func (r *recorder) end(last history.Event) {
	r.flush()
	before := r.events()
	last.At = max(r.now(), before[len(before)-1].At)
	r.add(last)
	r.flush()
}

// events are all that were recorded, in order. A late one may belong before others that were emitted.
func (r *recorder) events() []history.Event {
	r.inAccountOrder(r.old)
	history.Sort(r.old)
	return r.old
}
