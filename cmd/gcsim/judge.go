package main

import (
	"errors"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/report/story"
)

// resultOf judges a history. That of a run that could not be made has no verdict,
// but the error that ended it: err, or what the history says. Nor has one that
// cannot be judged.
func resultOf(events []history.Event, err error) story.Result {
	run := events[0].Run
	r := story.Result{Scenario: run.Scenario, Title: run.Title, Variant: run.Variant, Control: run.Control, Events: events}
	broken := func(e history.Event) bool { return e.Kind == history.KindError }
	if i := slices.IndexFunc(events, broken); err == nil && i >= 0 {
		err = errors.New(events[i].Text)
	}
	if err != nil {
		r.Err = err
		return r
	}
	j, err := judge.Judge(events)
	if err != nil {
		r.Err = err
		return r
	}
	r.Verdict = j
	r.Outcome = story.Outcome{
		Name: j.Name, OK: j.OK(), Open: !j.OK() && j.Open(), Violations: j.Violations, Noted: j.Noted(), Mismatches: j.Mismatches,
		Facts: story.Facts{
			Stale: j.Stale, Refused: j.Refused, Ordered: j.Ordered, Exclusive: j.Exclusive, Fair: j.Fair,
			Fenced: j.Storage.Fenced, Reason: j.Storage.Reason, Final: j.Final,
		},
	}
	return r
}
