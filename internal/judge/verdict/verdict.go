// Package verdict judges a history: was the resource protected?
//
// It judges from two accounts, neither of which is the token: the lock service's
// own order of tenures, watched by an observer that is none of the clients, and
// the order in which the storage did things. What a client says of itself is
// used only to tell of which tenure a request was and what was acknowledged.
package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

type Verdict struct {
	Name       string              `json:"verdict"` // history.Safe, Corrupted, Blocked or Undecided
	Violations []history.Violation `json:"violations,omitempty"`
	Stale      int                 `json:"stale"`              // requests refused as stale
	Refused    int                 `json:"refused"`            // requests refused, for whatever reason
	Ordered    bool                `json:"ordered"`            // of each lock, tokens grew in the order of its grants
	Exclusive  bool                `json:"exclusive"`          // of each lock, no tenure began before the one before it was over
	Overlaps   []history.Violation `json:"overlaps,omitempty"` // where Exclusive is false: the two grants
	Fair       *bool               `json:"fair,omitempty"`     // the lock service granted in the order of requests; nil: it does not tell of its queue
	Passed     []history.Violation `json:"passed,omitempty"`   // where Fair is false: who had queued, and the grant that came before theirs
	// Undecided is what could not be seen, as what became of a request. Then no verdict is Safe.
	Undecided []history.Violation `json:"undecided,omitempty"`
	Final     map[string]string   `json:"final"`
	// Mismatches are what is not as the run expects; none: it came out as it must.
	Mismatches []string `json:"mismatches,omitempty"`

	steps map[string]string // what became of those that have names
}

// Judge judges a history in which history.Check finds no problem.
func Judge(events []history.Event) Verdict {
	if v := newJudge(events).verdict(); v.OK() {
		return v
	}
	j := newJudge(events)
	j.hunger = newHunger(events)
	v := j.verdict()
	v.stray(events[0].Run.Expect, j.straying())
	return v
}

func (j *judge) verdict() Verdict {
	events := j.events
	order := InOrder(events)
	j.gone = j.compareValues(order)
	for place, i := range order {
		j.place = place
		j.judge(i, events[i])
	}
	j.denied()
	j.lost()
	v := Verdict{
		Name: history.Safe, Violations: j.violations,
		Stale: j.stale, Refused: j.refused, Ordered: !j.disordered, Final: j.final,
		Exclusive: len(j.overlaps) == 0, Overlaps: j.overlaps, Passed: j.passed, Undecided: j.undecided, steps: steps(events),
	}
	if j.queues {
		fair := len(j.passed) == 0
		v.Fair = &fair
	}
	for _, violation := range j.violations {
		if violation.Verdict == history.Corrupted || v.Name == history.Safe {
			v.Name = violation.Verdict
		}
	}
	if v.Name == history.Safe && len(v.Undecided) > 0 {
		v.Name = history.Undecided
	}
	v.compare(events[0].Run.Expect)
	return v
}

// stray has a run be undecided if the machine may have made another story of it, and it is not as expected: that
// story proves nothing. A violation that is not expected stays one.
func (v *Verdict) stray(want history.Expect, astray []history.Violation) {
	if len(v.Mismatches) == 0 || len(astray) == 0 || v.Name != history.Safe && v.Name != want.WantedVerdict() {
		return
	}
	v.Name, v.Undecided, v.Mismatches = history.Undecided, append(v.Undecided, astray...), nil
	v.compare(want)
}

func (v *Verdict) compare(want history.Expect) {
	mismatch := func(format string, args ...any) {
		v.Mismatches = append(v.Mismatches, fmt.Sprintf(format, args...))
	}
	switch {
	case v.Name == want.WantedVerdict():
	case v.Name == history.Undecided:
		mismatch("the verdict is %s, expected %s: %s", v.Name, want.WantedVerdict(), v.Undecided[0].Text)
	default:
		mismatch("the verdict is %s, expected %s", v.Name, want.WantedVerdict())
	}
	if want.Stale != nil && v.Stale != *want.Stale {
		mismatch("requests refused as stale: %d, expected %d", v.Stale, *want.Stale)
	}
	if want.Refused != nil && v.Refused != *want.Refused {
		mismatch("requests refused: %d, expected %d", v.Refused, *want.Refused)
	}
	fact := func(is bool, want *bool, yes, no string, found []history.Violation) {
		switch {
		case want == nil || is == *want:
		case is:
			mismatch("%s", yes)
		case len(found) > 0:
			mismatch("%s: %s", no, found[0].Text)
		default:
			mismatch("%s", no)
		}
	}
	fact(v.Ordered, want.Ordered, "tokens grew in the order of the grants, expected that they do not",
		"tokens did not grow in the order of the grants, expected that they do", nil)
	fact(v.Exclusive, want.Exclusive, "no two tenures of a lock overlapped, expected that some do",
		"two tenures of a lock overlapped, expected that none do", v.Overlaps)
	if v.Fair != nil {
		fact(*v.Fair, want.Fair, "grants came in the order of requests, expected that they do not",
			"grants did not come in the order of requests, expected that they do", v.Passed)
	} else if want.Fair != nil {
		mismatch("whether grants came in the order of requests cannot be judged: by the lock service's account nobody queued, or it does not tell who does")
	}
	for _, key := range slices.Sorted(maps.Keys(want.Final)) {
		if got, ok := v.Final[key]; !ok {
			mismatch("at the end %s has no value, expected %q", key, want.Final[key])
		} else if got != want.Final[key] {
			mismatch("at the end %s holds %q, expected %q", key, got, want.Final[key])
		}
	}
	for _, key := range want.Missing {
		if got, ok := v.Final[key]; ok {
			mismatch("at the end %s holds %q, expected that it has no value", key, got)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Steps)) {
		if got := v.steps[name]; got != want.Steps[name] {
			mismatch("the step %q: %s, expected %s", name, cmp.Or(got, "not done"), want.Steps[name])
		}
	}
}

// Noted are what make facts false, which is no harm by itself, and what cannot be known.
func (v Verdict) Noted() []history.Violation {
	return slices.Concat(v.Overlaps, v.Passed, v.Undecided)
}

// OK reports whether the run came out as it must.
func (v Verdict) OK() bool { return len(v.Mismatches) == 0 }

// action is what a client asked for, by steps of these names, and what became of it; "": not known yet.
type action struct {
	names  []string
	became string
}

func steps(events []history.Event) map[string]string {
	became, latest := make(map[string]string), make(map[string]*action)
	for _, e := range events {
		key := cmp.Or(e.Request, e.Lane+" "+e.Op+" "+e.Scope)
		switch what := latest[key]; {
		case e.Kind == history.KindInvoke:
			latest[key] = &action{names: named(e.Step)}
		case e.Kind == history.KindNote && e.Step != "" && e.Op == "": // it has done that by itself
			became[e.Step] = history.StepOK
		case what == nil:
		case e.Kind == history.KindNote:
			what.names = append(what.names, named(e.Step)...)
		case outcome(e) != "":
			what.became = outcome(e)
		}
		if what := latest[key]; what != nil && what.became != "" {
			for _, name := range what.names {
				became[name] = what.became
			}
		}
	}
	return became
}

func named(step string) []string {
	if step == "" {
		return nil
	}
	return []string{step}
}

// outcome is how a step ends of which a client was told this, "" if this is no answer.
func outcome(e history.Event) string {
	switch {
	case e.Kind == history.KindUnknown:
		return history.StepUnknown
	case e.Kind == history.KindFail && slices.Contains(history.StepOutcomes, e.Reason):
		return e.Reason
	case e.Kind == history.KindFail:
		return history.StepFailed
	case e.Kind != history.KindOK:
		return ""
	case e.Op == history.OpRead && e.Missing:
		return history.StepNothing
	case e.Op == history.OpRead:
		return history.StepFound + e.Value
	}
	return history.StepOK
}
