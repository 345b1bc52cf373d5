package report

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Result is what came of one run, for all reports that are about many.
type Result struct {
	Scenario string // the file's name without .yaml
	Title    string
	Variant  string
	Control  bool
	Round    int // of several, from 1; 0: there is only one
	Began    time.Time
	Took     time.Duration
	Events   []history.Event
	Verdict  any     // what goes into JSON
	Outcome  Outcome // the same in words; zero where there is none
	Err      error   // why the run could not be made
	Skipped  string  // why it was not tried
}
