// Package verdict judges a history: was the resource protected?
//
// It judges from two accounts, neither of which is the token: the lock service's
// own order of tenures, watched by an observer that is none of the clients, and
// the order in which the storage did things. What a client says of itself is
// used only to tell of which tenure a request was and what was acknowledged.
package verdict

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// Verdict is the judgement of a run.
type Verdict struct {
	Name       string            `json:"verdict"` // history.Safe, Corrupted or Blocked
	Violations []Violation       `json:"violations,omitempty"`
	Stale      int               `json:"stale"` // requests refused as stale
	Final      map[string]string `json:"final"`
	// Mismatches are what is not as the run expects; none: it came out as it must.
	Mismatches []string `json:"mismatches,omitempty"`
}

// Violation is one thing that must not happen, and the two events that make it:
// their places in the history, from 0. Before is -1 where one event is enough.
type Violation struct {
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Before  int    `json:"before"`
	Event   int    `json:"event"`
}

// Judge judges a history.
func Judge(events []history.Event) Verdict {
	j := judge{
		events:  events,
		scopes:  make(map[string]*scope),
		tenures: make(map[string]*tenure),
		invoked: make(map[string]int),
		applied: make(map[string]int),
		written: make(map[string]int),
		final:   make(map[string]string),
	}
	for i, e := range events {
		j.judge(i, e)
	}
	j.lost()
	v := Verdict{Name: history.Safe, Violations: j.violations, Stale: j.stale, Final: j.final}
	for _, violation := range j.violations {
		if violation.Verdict == history.Corrupted || v.Name == history.Safe {
			v.Name = violation.Verdict
		}
	}
	v.compare(events[0].Run.Expect)
	return v
}

type judge struct {
	events     []history.Event
	scopes     map[string]*scope
	tenures    map[string]*tenure
	invoked    map[string]int // request → event
	applied    map[string]int // request → event
	written    map[string]int // key → event that last changed it; absent: it has no value
	final      map[string]string
	stale      int
	violations []Violation
}

// scope is what the lock service and the storage did about one lock.
type scope struct {
	granted int     // tenures so far
	current *tenure // nil: the lock is free
	// latest is the event by which the latest tenure that came so far read or
	// wrote, and latestTenure its place in the order of tenures.
	latest       int
	latestTenure int
}

type tenure struct {
	order int // of its grant in the scope, from 1
	scope *scope
	event int
}

func (j *judge) scope(name string) *scope {
	s := j.scopes[name]
	if s == nil {
		s = &scope{latest: -1}
		j.scopes[name] = s
	}
	return s
}

func (j *judge) judge(i int, e history.Event) {
	switch e.Kind {
	case history.KindGranted:
		s := j.scope(e.Scope)
		s.granted++
		s.current = &tenure{order: s.granted, scope: s, event: i}
		j.tenures[e.Tenure] = s.current
	case history.KindEnded:
		if t := j.tenures[e.Tenure]; t != nil && t.scope.current == t {
			t.scope.current = nil
		}
	case history.KindInvoke:
		if e.Request != "" {
			j.invoked[e.Request] = i
		}
	case history.KindApplied:
		j.apply(i, e)
	case history.KindRefused:
		j.refuse(i, e)
	case history.KindFail, history.KindUnknown:
		if _, done := j.applied[e.Request]; done && e.Request != "" && e.Kind == history.KindFail {
			j.violate(history.Corrupted, j.applied[e.Request], i, "%s, of which %s was told that it failed, was applied", j.name(j.applied[e.Request]), e.Client)
		}
		// With a reason, the client did not ask for the lock at all.
		if s := j.scope(e.Scope); e.Op == history.OpLock && e.Reason == "" && s.current == nil {
			j.violate(history.Blocked, -1, i, "%s did not get the lock %s, which was free", e.Client, e.Scope)
		}
	case history.KindFinal:
		if !e.Missing {
			j.final[e.Key] = e.Value
		}
		j.compareValue(i, e)
	}
}

// tenureOf is the tenure under which a request was made, by its client's word;
// nil where the client held none.
func (j *judge) tenureOf(e history.Event) *tenure {
	if i, ok := j.invoked[e.Request]; ok {
		return j.tenures[j.events[i].Tenure]
	}
	return nil
}

func (j *judge) apply(i int, e history.Event) {
	if e.Request != "" {
		j.applied[e.Request] = i
	}
	t := j.tenureOf(e)
	s, order := j.scope(e.Scope), 0 // a request of no tenure comes before all
	if t != nil {
		s, order = t.scope, t.order
	}
	if e.Op == history.OpRead {
		j.compareValue(i, e)
	} else if order < s.latestTenure {
		j.violate(history.Corrupted, s.latest, i, "%s was applied after %s of a later tenure", j.name(i), j.name(s.latest))
	}
	if order > s.latestTenure || order == s.latestTenure && order > 0 {
		s.latest, s.latestTenure = i, order
	}
	switch e.Op {
	case history.OpWrite:
		j.written[e.Key] = i
	case history.OpDelete:
		delete(j.written, e.Key)
	}
}

func (j *judge) refuse(i int, e history.Event) {
	if e.Reason == "stale" {
		j.stale++
	}
	if t := j.tenureOf(e); t != nil && t.scope.current == t {
		j.violate(history.Blocked, t.event, i, "%s was refused (%s), but its client held the lock", j.name(i), e.Reason)
	}
}

// compareValue holds what a read found against what was written.
func (j *judge) compareValue(i int, e history.Event) {
	w, ok := j.written[e.Key]
	switch {
	case ok && (e.Missing || e.Value != j.events[w].Value):
		j.violate(history.Corrupted, w, i, "%s is lost: afterwards %s", j.name(w), holds(e))
	case !ok && !e.Missing:
		j.violate(history.Corrupted, -1, i, "%s, and nobody wrote that", holds(e))
	}
}

func holds(e history.Event) string {
	if e.Missing {
		return fmt.Sprintf("%s has no value", e.Key)
	}
	return fmt.Sprintf("%s holds %q", e.Key, e.Value)
}

// lost finds writes that were acknowledged and never applied.
func (j *judge) lost() {
	for i, e := range j.events {
		if e.Kind != history.KindOK || (e.Op != history.OpWrite && e.Op != history.OpDelete) {
			continue
		}
		if _, ok := j.applied[e.Request]; !ok {
			j.violate(history.Corrupted, -1, i, "%s's %s of %s was acknowledged, but the storage did not apply it", e.Client, e.Op, e.Key)
		}
	}
}

func (j *judge) violate(verdict string, before, event int, format string, args ...any) {
	j.violations = append(j.violations, Violation{Verdict: verdict, Before: before, Event: event, Text: fmt.Sprintf(format, args...)})
}

// name is a storage event as people call it.
func (j *judge) name(i int) string {
	e := j.events[i]
	client := e.Client
	if k, ok := j.invoked[e.Request]; ok {
		client = j.events[k].Client
	}
	what := fmt.Sprintf("%s of %s", e.Op, e.Key)
	if e.Op == history.OpWrite {
		what = fmt.Sprintf("write %s=%s", e.Key, e.Value)
	}
	return fmt.Sprintf("%s's %s at %.3f s", client, what, e.At.Seconds())
}

// compare holds the verdict against what the run expects.
func (v *Verdict) compare(want history.Expect) {
	mismatch := func(format string, args ...any) {
		v.Mismatches = append(v.Mismatches, fmt.Sprintf(format, args...))
	}
	if v.Name != want.Verdict {
		mismatch("the verdict is %s, expected %s", v.Name, want.Verdict)
	}
	if want.Stale != nil && v.Stale != *want.Stale {
		mismatch("%d requests were refused as stale, expected %d", v.Stale, *want.Stale)
	}
	for _, key := range slices.Sorted(maps.Keys(want.Final)) {
		if got, ok := v.Final[key]; !ok {
			mismatch("at the end %s has no value, expected %q", key, want.Final[key])
		} else if got != want.Final[key] {
			mismatch("at the end %s holds %q, expected %q", key, got, want.Final[key])
		}
	}
}

// OK reports whether the run came out as it must.
func (v Verdict) OK() bool { return len(v.Mismatches) == 0 }
