package report

import (
	"errors"
	"fmt"
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
	Verdict  any     // what goes into its own file
	Outcome  Outcome // the same in words; zero where there is none
	Err      error   // why the run could not be made, or has no verdict
	Skipped  string  // why it was not tried
	File     string  // the history that was read; "": it was run
}

// Drawing is what there is to draw of a run: its verdict, or why it has none.
func (r Result) Drawing() Drawing {
	if r.Err != nil {
		return Drawing{Events: r.Events, Outcome: Outcome{Trouble: trouble(r.Err)}}
	}
	return Drawing{Events: r.Events, Outcome: r.Outcome}
}

// trouble says why a run has no verdict, in a sentence: of all that is wrong with a
// history, the first.
func trouble(err error) string {
	var invalid *history.InvalidError
	if errors.As(err, &invalid) && len(invalid.Problems) > 0 {
		return fmt.Sprintf("the history cannot be judged: line %d: %s", invalid.Problems[0].Line, invalid.Problems[0].Text)
	}
	return err.Error()
}
