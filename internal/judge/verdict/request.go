package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// request is what a client asks of the storage: all attempts at the same.
type request struct {
	place        int            // the event by which it was first asked for
	acknowledged bool           // an attempt succeeded, at whatever time
	told         bool           // and by now
	changed      map[string]int // key → the last event by which it was applied
	whole        *whole         // the change of several keys that it is, or is a part of; nil: none
}

// attempt is one at a request, by its client's word.
type attempt struct {
	*request
	client    string
	tenure    string   // "": the client held no lock
	keys      []string // that it changed, by the storage's word
	first     int      // the first event of that; -1: none
	duplicate bool     // the storage said that it was done before
	refused   bool     // and that was judged
	left      bool     // it had no answer, and that was said
	stray     bool     // it came after a later tenure, and that was said
}

// attempt is the attempt that the storage tells of. In an unfinished history nobody may have asked for it.
func (j *judge) attempt(e history.Event) *attempt {
	a := j.attempts[e.Request]
	if a == nil {
		a = newAttempt(e)
		j.attempts[e.Request] = a
	}
	return a
}

func newAttempt(e history.Event) *attempt {
	return &attempt{client: e.Client, first: -1, request: &request{changed: make(map[string]int)}}
}

type told struct {
	client string
	token  fence.Token
}

// hear takes in what may stand too late: what clients say, and which requests were duplicates.
func (j *judge) hear() {
	same := sameByName
	if j.events[0].Run.Version < 2 {
		same = j.sameByContent()
	}
	wholes := make(map[string]*whole)
	for i, e := range j.events { // the clock may have stepped back, so that an answer stands before its question
		if e.Kind == history.KindInvoke && e.Request != "" {
			a := newAttempt(e)
			a.client, a.tenure, a.place, a.whole = e.Lane, e.Tenure, i, wholeOf(wholes, e)
			j.attempts[e.Request] = a
		}
	}
	for _, e := range j.events {
		a := j.attempts[e.Request]
		switch {
		case e.Kind == history.KindOK && (e.Op == history.OpLock || e.Op == history.OpTryLock):
			j.told[e.Tenure] = append(j.told[e.Tenure], told{e.Lane, e.Token})
		case a == nil:
		case e.Kind == history.KindInvoke:
			if first := j.attempts[same(e)]; first != nil {
				a.request = first.request
			}
		case e.Kind == history.KindDuplicate:
			a.duplicate = true
		}
	}
	for _, e := range j.events {
		if a := j.attempts[e.Request]; a != nil && e.Kind == history.KindOK {
			a.acknowledged = true
		}
	}
}

// sameByName is the first attempt at what an event asks for, by its word.
func sameByName(e history.Event) string { return e.RetryOf }

// sameByContent is the same for version 1: a client that asks again for what it asked for, and whose latest
// such request is of unknown outcome, tries that again.
func (j *judge) sameByContent() func(history.Event) string {
	first := make(map[string]string) // request → the first attempt at it
	last := make(map[string]string)  // what is asked for → the first attempt at the latest request for it
	outcome := make(map[string]int)  // first attempt → the last answer to any attempt
	for i, e := range j.events {
		switch {
		case e.Request == "":
		case e.Kind == history.KindInvoke:
			what := fmt.Sprintf("%q", []any{e.Lane, e.Tenure, e.Scope, e.Op, e.Key, e.Value, e.Changes, e.Sequence})
			again := last[what]
			if j.events[outcome[again]].Kind != history.KindUnknown {
				again = e.Request
			}
			first[e.Request], last[what] = again, again
			outcome[again] = max(outcome[again], outcome[e.Request]) // an answer may stand before its question
		case e.Kind == history.KindOK, e.Kind == history.KindFail, e.Kind == history.KindUnknown:
			outcome[cmp.Or(first[e.Request], e.Request)] = i
		}
	}
	return func(e history.Event) string { return first[e.Request] }
}

// own is what a client does to a key in a tenure alone: nothing else keeps its requests in order.
type own struct{ client, tenure, key string }

// acknowledged is the last change, by its asking, of which the client knows that it is done, and its event.
type acknowledged struct {
	*request
	event int
}

func (j *judge) acknowledge(a *attempt) {
	a.told = true
	for key := range a.changed {
		j.renew(own{a.client, a.tenure, key}, a.request)
	}
}

func (j *judge) renew(o own, r *request) {
	if n := j.newest[o]; n.request == nil || n.place <= r.place {
		j.newest[o] = acknowledged{r, r.changed[o.key]}
	}
}

// late finds a change after one for which its client asked later, and which was acknowledged. Two that were
// under way at the same time may come in either order.
func (j *judge) late(i int, e history.Event, a *attempt) {
	a.changed[e.Key] = i
	if a.tenure == "" {
		return
	}
	o := own{a.client, a.tenure, e.Key}
	if n := j.newest[o]; n.request != nil && n.place > a.place {
		j.violate(history.Late, n.event, i, "%s was acknowledged, and then undone by %s, for which its client had asked before", j.name(n.event), j.name(i))
	}
	if a.told {
		j.renew(o, a.request)
	}
}

func (j *judge) lost() {
	for i, e := range j.events {
		a := j.attempts[e.Request]
		if e.Kind != history.KindOK || a == nil {
			continue
		}
		how := "%s's %s of %s was acknowledged, but the storage did not apply it"
		if a.refused {
			how = "%s says that its %s of %s is done, but the storage refused it"
		}
		for _, key := range changedBy(j.events[a.place]) {
			if !slices.Contains(a.keys, key) && !j.doneBefore(a, key) {
				j.violate(history.Lost, -1, i, how, a.client, e.Op, key)
			}
		}
	}
}

// doneBefore reports whether an attempt was a duplicate of one that changed the key. In histories of version 1
// the storage does not tell of duplicates.
func (j *judge) doneBefore(a *attempt, key string) bool {
	duplicate := a.duplicate
	if j.events[0].Run.Version < 2 {
		duplicate = j.events[a.place].Sequence != 0 && len(a.keys) == 0
	}
	_, changed := a.changed[key]
	return duplicate && changed
}

// denied finds changes that were applied, and of which the client was told that they have no effect.
func (j *judge) denied() {
	for i, e := range j.events {
		a := j.attempts[e.Request]
		if e.Kind == history.KindFail && a != nil && a.first >= 0 {
			j.violate(history.Denied, min(i, a.first), max(i, a.first), "%s, of which %s was told that it failed, was applied", j.name(a.first), a.client)
		}
	}
}

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
