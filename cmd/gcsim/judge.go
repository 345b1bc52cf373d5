package main

import (
	"errors"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/report"
)

// resultOf judges a history. That of a run that could not be made has no verdict,
// but the error that ended it.
func resultOf(events []history.Event) report.Result {
	run := events[0].Run
	r := report.Result{Scenario: run.Scenario, Title: run.Title, Variant: run.Variant, Control: run.Control, Events: events}
	broken := func(e history.Event) bool { return e.Kind == history.KindError }
	if i := slices.IndexFunc(events, broken); i >= 0 {
		r.Err = errors.New(events[i].Text)
		return r
	}
	v, err := judge.Judge(events)
	if err != nil {
		r.Err = err
		return r
	}
	r.Verdict = v
	r.Outcome = report.Outcome{Name: v.Name, OK: v.OK(), Mismatches: v.Mismatches}
	for _, violation := range v.Violations {
		r.Outcome.Violations = append(r.Outcome.Violations, violation.Text)
	}
	return r
}
