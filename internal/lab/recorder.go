package lab

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// recorder puts events of several accounts in the order of their times. The
// accounts come through pipes of different speed, so it keeps them until a step
// is over: by then all that belongs to it has arrived.
type recorder struct {
	emit  func(history.Event)
	began time.Time
	fresh []history.Event // of the step
	old   []history.Event // in order, of the steps before
}

func newRecorder(emit func(history.Event)) *recorder {
	if emit == nil {
		emit = func(history.Event) {}
	}
	return &recorder{emit: emit, began: time.Now()}
}

// begin sets the time to 0. What was recorded before is forgotten.
func (r *recorder) begin(run history.Run) {
	r.began, r.fresh = time.Now(), nil
	r.old = []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &run}}
	r.emit(r.old[0])
}

func (r *recorder) now() time.Duration { return time.Since(r.began) }

// since turns a time that another process has read off its clock into one of
// this run.
func (r *recorder) since(t time.Time) time.Duration { return t.Sub(r.began) }

func (r *recorder) add(e history.Event) { r.fresh = append(r.fresh, e) }

// endedBy holds the end of the tenure before a grant to the time of the grant.
func (r *recorder) endedBy(grant history.Event) {
	for _, list := range [][]history.Event{r.old, r.fresh} {
		for i, e := range list {
			if e.Kind == history.KindEnded && e.Scope == grant.Scope {
				list[i].At = min(e.At, grant.At)
			}
		}
	}
}

// releasedBy has the end of a tenure be its client's doing: etcd's word of it came
// before the client's own, of before, that it lets go.
func (r *recorder) releasedBy(unlock history.Event) {
	for i, e := range r.fresh {
		if e.Kind == history.KindEnded && keyOf(e.Tenure) == keyOf(unlock.Tenure) && unlock.At <= e.At {
			r.fresh[i].Cause, r.fresh[i].Took = history.CauseReleased, 0
		}
	}
}

// askedBy has what the storage did be of the client that asked for it: the
// storage's word of it came before the client's own.
func (r *recorder) askedBy(ask history.Event) {
	for i, e := range r.fresh {
		if e.Lane == history.LaneStorage && e.Request == ask.Request {
			r.fresh[i].Client = ask.Lane
		}
	}
}

func (r *recorder) flush() {
	history.Sort(r.fresh)
	for _, e := range r.fresh {
		r.emit(e)
	}
	r.old = append(r.old, r.fresh...)
	r.fresh = nil
}

// end records the last event of all.
func (r *recorder) end(last history.Event) {
	r.flush()
	before := r.events()
	last.At = max(r.now(), before[len(before)-1].At)
	r.add(last)
	r.flush()
}

// events are all that were recorded, in order. A late one may belong before
// some that were emitted earlier.
func (r *recorder) events() []history.Event {
	history.Sort(r.old)
	return r.old
}
