package ci

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/fencelab/fencelab/internal/report/story"
)

type document struct {
	OK      bool   `json:"ok"`      // every run was made and came out as expected; those that were not tried do not count
	Summary string `json:"summary"` // the same in a sentence
	Runs    []run  `json:"runs"`    // in the order of scenarios, variants and rounds
}

type run struct {
	Service      string    `json:"service,omitempty"` // the lock service
	Scenario     string    `json:"scenario"`          // the file's name without .yaml
	Title        string    `json:"title"`
	Variant      string    `json:"variant"`
	Control      bool      `json:"control"`              // it is the story without the protection, and must fail
	Round        int       `json:"round,omitempty"`      // of several, from 1
	Verdict      string    `json:"verdict,omitempty"`    // safe, corrupted or blocked; absent: it could not be made
	Expected     string    `json:"expected,omitempty"`   // the verdict that the scenario expects; absent: it did not begin
	OK           *bool     `json:"ok,omitempty"`         // all came out as expected; absent: it was not tried
	Undecided    bool      `json:"undecided,omitempty"`  // nobody knows whether all came out as expected
	Mismatches   []string  `json:"mismatches,omitempty"` // what did not come out as expected
	Violations   []string  `json:"violations,omitempty"` // what must not happen, and did
	Began        time.Time `json:"began,omitzero"`
	Seconds      float64   `json:"seconds"`           // how long it took
	Error        string    `json:"error,omitempty"`   // why it could not be made
	Skipped      string    `json:"skipped,omitempty"` // why it was not tried
	Seed         uint64    `json:"seed,omitempty"`    // --seed with it makes the same random choices; absent: there were none
	*story.Facts           // beside the verdict; absent without one
}

// JSON writes what came of runs as one JSON document: ok, summary and runs, with the fields above and Facts.
func JSON(w io.Writer, results []story.Result) error {
	c := story.CountOf(results)
	d := document{OK: c.Runs > 0 && c.Differ == 0 && c.Harmed == 0 && c.Open == 0 && c.Cannot == 0, Summary: story.Summary(results), Runs: []run{}}
	for _, r := range results {
		out := run{
			Service: r.Service, Scenario: r.Scenario, Title: r.Title, Variant: r.Variant, Control: r.Control, Round: r.Round,
			Verdict: r.Outcome.Name, Expected: r.Run().Expect.Verdict, Undecided: r.Outcome.Open, Mismatches: r.Outcome.Mismatches,
			Began: r.Began, Seconds: float64(r.Took.Milliseconds()) / 1000, Skipped: r.Skipped, Seed: r.Run().Seed,
		}
		if r.Skipped == "" {
			out.OK = new(r.Expected())
		}
		for _, v := range r.Outcome.Violations {
			out.Violations = append(out.Violations, v.Text)
		}
		if r.Err != nil {
			out.Error = r.Err.Error()
		} else if r.Outcome.Name != "" {
			out.Facts = &r.Outcome.Facts
		}
		d.Runs = append(d.Runs, out)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
