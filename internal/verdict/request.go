package verdict

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// request is one to the storage, by its client's word.
type request struct {
	id      string
	client  string
	tenure  string // "": the client held no lock
	place   int    // the event by which it was first asked for: a retry has that of the first attempt
	outcome history.Kind
	applied []int // by the storage's word: a change of several keys is told of as many events
	seen    bool  // a read found what it wrote
	stale   bool  // it was applied after a later tenure's, and that was said
}

// told is a tenure as a client was told of it.
type told struct {
	client string
	token  fence.Token
}

// hear takes in what the clients say, from the first event to the last: what is
// judged later may depend on an answer that came late.
func (j *judge) hear() {
	for i, e := range j.events { // the clock may have stepped back, so that an answer stands before its question
		if e.Kind == history.KindInvoke && e.Request != "" {
			j.requests[e.Request] = &request{id: e.Request, client: e.Lane, tenure: e.Tenure, place: i}
		}
	}
	unsure := make(map[string]*request) // what was asked for → the last attempt, whose outcome is unknown
	for _, e := range j.events {
		r := j.requests[e.Request]
		switch {
		case e.Kind == history.KindInvoke && r != nil:
			if first := unsure[attempt(e)]; first != nil {
				r.place = first.place
			}
		case e.Kind == history.KindOK && (e.Op == history.OpLock || e.Op == history.OpTryLock):
			j.told[e.Tenure] = append(j.told[e.Tenure], told{e.Lane, e.Token})
		case r != nil && slices.Contains([]history.Kind{history.KindOK, history.KindFail, history.KindUnknown}, e.Kind):
			r.outcome = e.Kind
			if what := attempt(j.events[r.place]); e.Kind == history.KindUnknown {
				unsure[what] = r
			} else {
				delete(unsure, what)
			}
		}
	}
}

// attempt is what a client asks for: where it is the same as before, of which the
// client does not know what became, it is a retry.
func attempt(e history.Event) string {
	return fmt.Sprintf("%q", []any{e.Lane, e.Tenure, e.Op, e.Key, e.Value, e.Changes, e.Sequence})
}

// late finds a change that came after one for which its client asked later, and
// of which it was told that it is done. Within a tenure a client is on its own,
// so nothing else keeps the two in order.
func (j *judge) late(i int, e history.Event, r *request) {
	if r == nil || r.tenure == "" || e.Op == history.OpRead {
		return
	}
	own := fmt.Sprintf("%q", []string{r.client, r.tenure, e.Key})
	for _, k := range slices.Backward(j.changes[own]) {
		if later := j.requests[j.events[k].Request]; later.place > r.place && later.outcome == history.KindOK {
			j.violate(history.Corrupted, k, i, "%s was acknowledged, and then undone by %s, for which its client had asked before", j.name(k), j.name(i))
			break
		}
	}
	j.changes[own] = append(j.changes[own], i)
}

// lost finds changes that were acknowledged and never applied.
func (j *judge) lost() {
	for i, e := range j.events {
		r := j.requests[e.Request]
		if e.Kind != history.KindOK || r == nil || j.doneBefore(r) {
			continue
		}
		for _, key := range changedBy(j.events[r.place]) {
			if !slices.ContainsFunc(r.applied, func(k int) bool { return j.events[k].Key == key }) {
				j.violate(history.Corrupted, -1, i, "%s's %s of %s was acknowledged, but the storage did not apply it", r.client, e.Op, key)
			}
		}
	}
}

// denied finds changes that were applied, at whatever time, and of which the
// client was told that they have no effect.
func (j *judge) denied() {
	for i, e := range j.events {
		r := j.requests[e.Request]
		if e.Kind != history.KindFail || r == nil || len(r.applied) == 0 || len(changedBy(j.events[r.place])) == 0 {
			continue
		}
		k := r.applied[0]
		j.violate(history.Corrupted, min(i, k), max(i, k), "%s, of which %s was told that it failed, was applied", j.name(k), r.client)
	}
}

// changedBy are the keys that an operation changes.
func changedBy(e history.Event) (keys []string) {
	switch e.Op {
	case history.OpWrite, history.OpDelete:
		keys = append(keys, e.Key)
	case history.OpChange:
		for _, c := range e.Changes {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// doneBefore reports whether a request was a retry of one that had been
// applied: the storage knows it by its sequence number, drops it, which its own
// account does not mention, and acknowledges it.
func (j *judge) doneBefore(r *request) bool {
	if j.events[r.place].Sequence == 0 || len(r.applied) > 0 {
		return false
	}
	return j.attempted(r, func(a *request) bool { return len(a.applied) > 0 })
}

// attempted reports whether one of the attempts at what r asks for is as said.
func (j *judge) attempted(r *request, is func(*request) bool) bool {
	for _, a := range j.requests {
		if a.place == r.place && is(a) {
			return true
		}
	}
	return false
}
