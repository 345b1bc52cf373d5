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

// Outcome is the verdict on a run, in the words in which it is printed.
type Outcome struct {
	Name       string // history.Safe, Corrupted or Blocked
	OK         bool   // everything came out as the run expects
	Violations []string
	Mismatches []string // what did not come out as expected
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
