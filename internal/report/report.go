// Package report turns a history and its verdict into pictures: lines in a
// terminal, drawn while the run goes on, and a space-time diagram in SVG. Both
// are renderings of the same rows, so that they cannot tell different stories.
//
// Events become rows (Builder, Rows); rows become pictures (Terminal, SVG).
package report

import (
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Outcome is the judgement of a run.
type Outcome struct {
	Name       string // history.Safe, Corrupted or Blocked
	OK         bool   // everything came out as the run expects
	Violations []history.Violation
	Mismatches []string // what did not come out as expected
	Facts      Facts
	Trouble    string // why there is no verdict; "": there is one
}

// Facts are what is known beside the verdict.
type Facts struct {
	Stale     int               `json:"stale"`                   // requests refused as stale
	Refused   int               `json:"refused"`                 // requests refused, for whatever reason
	Ordered   bool              `json:"ordered"`                 // of each lock, tokens grew in the order of its grants
	Exclusive bool              `json:"exclusive"`               // of each lock, no tenure began before the one before it was over
	Fenced    string            `json:"fenced"`                  // the second opinion: "yes", "no" or "undecided"
	Reason    string            `json:"fenced_reason,omitempty"` // why it is undecided
	Final     map[string]string `json:"final"`                   // what keys hold at the end
}

// opinion says what the second opinion is, where it is not that all is well.
func (f Facts) opinion() string {
	switch f.Fenced {
	case "no":
		return "By its own history the storage did not do what a fenced storage does."
	case "undecided":
		return "Whether the storage did what a fenced storage does is undecided: " + f.Reason + "."
	}
	return ""
}

// longWait is the time between two rows from which on a picture shows that time
// passed: its rows are evenly spaced and would hide it.
const longWait = 500 * time.Millisecond

// meaning says in one sentence what a verdict means, unless violations show it.
func meaning(o Outcome) string {
	if len(o.Violations) > 0 {
		return ""
	}
	switch o.Name {
	case history.Safe:
		return "No write of an earlier tenure was applied after a later tenure had read or written, and no acknowledged write was undone."
	case history.Corrupted:
		return "A write of an earlier tenure was applied after a later tenure's read or write, or an acknowledged write is lost."
	case history.Blocked:
		return "The rightful holder was refused, or a lock that should have been free was not."
	}
	return ""
}

// findings are what a verdict is made of, a paragraph each.
func findings(o Outcome) (list []Text) {
	for _, s := range []string{o.Trouble, meaning(o)} {
		if s != "" {
			list = append(list, say("%s", s))
		}
	}
	for _, v := range o.Violations {
		list = append(list, append(strong("%s:", v.Kind), say("%s", v.Text)...))
	}
	if s := o.Facts.opinion(); s != "" {
		list = append(list, say("%s", s))
	}
	for _, m := range o.Mismatches {
		list = append(list, append(strong("not as expected:"), say("%s", m)...))
	}
	return list
}

// expectation says whether a run came out as its scenario expects.
func expectation(run history.Run, o Outcome) string {
	switch {
	case !o.OK:
		return "NOT as expected"
	case run.Control:
		return "as expected of the control"
	}
	return "as expected"
}

// variant names a run and says what sets it apart.
func variant(run history.Run) (name, about string) {
	name, about = run.Variant, run.About
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

// heading is a lane's name in people's words.
func heading(lane string) string {
	if lane == history.LaneEtcd {
		return "lock service"
	}
	return lane
}
