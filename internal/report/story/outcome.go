// Package story turns a history and its verdict into rows, a step of the run
// each, with the words that all pictures share. A picture only places the rows,
// so that no two pictures can tell different stories. The package judges nothing.
//
// Events become rows (Builder). What came of many runs is a list of Result.
package story

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

type Drawing struct {
	Events  []history.Event
	Outcome Outcome
}

type Outcome struct {
	Name       string // history.Safe, Corrupted, Blocked or Undecided
	OK         bool   // everything came out as the run expects
	Open       bool   // whether it did, nobody knows: what would decide could not be seen
	Violations []history.Violation
	Noted      []history.Violation // what makes facts false, which is no harm by itself
	Mismatches []string            // what did not come out as expected
	Facts      Facts
	Trouble    string // why there is no verdict; "": there is one
	Free       bool   // nothing is expected of the run: somebody tells its story while it goes on, or it is an incident
	GoesOn     bool   // the story can go on: nothing is wrong so far, if nothing is
}

// Account is what the clients' accounts say of a lock service whose own is missing.
type Account struct {
	Exclusive string   `json:"exclusive"` // "yes", "no" or "undecided"
	Ordered   string   `json:"ordered"`
	Reasons   []string `json:"reasons,omitempty"` // why one of them is not yes
}

type Facts struct {
	Stale     int               `json:"stale"`                   // requests refused as stale
	Refused   int               `json:"refused"`                 // requests refused, for whatever reason
	Ordered   *bool             `json:"ordered,omitempty"`       // of each lock, tokens grew in the order of its grants
	Exclusive *bool             `json:"exclusive,omitempty"`     // of each lock, no tenure began before the one before it was over
	Clients   *Account          `json:"by_clients,omitempty"`    // in place of these, without the lock service's account
	Fair      *bool             `json:"fair,omitempty"`          // the lock service granted in the order of requests; nil: it does not tell of its queue
	Fenced    string            `json:"fenced"`                  // the second opinion: "yes", "no" or "undecided"
	Reason    string            `json:"fenced_reason,omitempty"` // why it is undecided
	Final     map[string]string `json:"final"`                   // what keys hold at the end
}

// verdicts say what each verdict means, and its tone, whether or not it was expected.
var verdicts = map[string]struct {
	tone    Tone
	meaning string
}{
	history.Safe:      {Good, "No write of an earlier tenure was applied after a later tenure had read or written, and no acknowledged write was undone."},
	history.Corrupted: {Bad, "A write of an earlier tenure was applied after a later tenure's read or write, or an acknowledged write is lost."},
	history.Blocked:   {Warn, "The rightful holder was refused, or a lock was not granted that was free, or should have been."},
	history.Undecided: {Warn, "Nothing that was seen is wrong. But what would decide could not be seen."},
}

// Drawn are what pictures show at their events.
func (o Outcome) Drawn() []history.Violation { return slices.Concat(o.Violations, o.Noted) }

// Tone is that of the verdict; Plain where its name is none of a verdict.
func (o Outcome) Tone() Tone { return verdicts[o.Name].tone }

// SoFar reports whether the verdict is good, and is not the last word.
func (o Outcome) SoFar() bool { return o.GoesOn && o.Tone() == Good }

func (o Outcome) ExpectedTone() Tone {
	switch {
	case o.OK:
		return Good
	case o.Open:
		return Warn
	}
	return Bad
}

// Expectation says whether a run, or a control, came out as its scenario expects; "" where nothing is expected.
func (o Outcome) Expectation(control bool) string {
	switch {
	case o.Free:
		return ""
	case o.Open:
		return "so nobody knows whether as expected"
	case !o.OK:
		return "NOT as expected"
	case control:
		return "as expected of the control"
	}
	return "as expected"
}

// Headline is a verdict and whether it was expected, in tones of their own: a control is right where it fails.
func (o Outcome) Headline(verdict string, control bool) Text {
	if o.Trouble != "" {
		return Strong("not judged")
	}
	if o.SoFar() {
		verdict += " so far"
	}
	if o.Free {
		return words(cmp.Or(o.Tone(), Bold), "%s", verdict)
	}
	return append(words(cmp.Or(o.Tone(), Bold), "%s,", verdict), words(o.ExpectedTone(), "%s", o.Expectation(control))...)
}

// Findings are what a verdict is made of, a paragraph each; without violations a sentence says it.
func (o Outcome) Findings() []Text {
	return o.findings(func(v history.Violation) Text { return append(Strong("%s:", v.Kind), Say("%s", v.Text)...) })
}

// findings are those in which a function tells of the violations.
func (o Outcome) findings(tell func(history.Violation) Text) (list []Text) {
	add := func(kind, text string) {
		if kind != "" || text != "" {
			list = append(list, append(Strong("%s", kind), Say("%s", text)...))
		}
	}
	add("", o.Trouble)
	if len(o.Violations) == 0 {
		add("", verdicts[o.Name].meaning)
	}
	for _, v := range o.Violations {
		list = append(list, tell(v))
	}
	switch o.Facts.Fenced {
	case "no":
		add("", "The storage broke the rule of a fence: only the highest token writes.")
	case "undecided":
		add("", "Whether the storage kept the rule of a fence is undecided: "+o.Facts.Reason+".")
	}
	if c := o.Facts.Clients; c != nil {
		add("", fmt.Sprintf("By the clients' accounts alone, exclusive: %s; tokens in order: %s. Whether a free lock was granted in time, they do not tell.", c.Exclusive, c.Ordered))
		for _, reason := range c.Reasons {
			add("by the clients:", reason)
		}
	}
	for _, m := range o.Mismatches {
		add("not as expected:", m)
	}
	return list
}

func Variant(run history.Run) (name, about string) {
	name, about = cmp.Or(run.Variant, run.Scenario, "the run"), run.About
	if run.Control {
		name += " (the control)"
	}
	if about == "" && run.Fencing {
		about = "the storage checks tokens"
	} else if about == "" {
		about = "the storage checks no tokens"
	}
	if run.Seed != 0 {
		about += fmt.Sprintf(" (seed %d)", run.Seed)
	}
	return name, about
}
