package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/verdict"
)

// Exit statuses.
const (
	exitDiffers = 1 // a run did not come out as it must
	exitCannot  = 2 // a run could not be made
	exitStopped = 130
)

func runCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "run [NAME|FILE|DIR]...",
		Short: "Run scenarios; without an argument, the main story",
		Long: `run runs scenarios, each in all its variants, side by side, each in a world of
its own: processes on free ports of the loopback address, which leave nothing
behind. It draws each run as a timeline and judges it.

Exit status: 0 if all runs came out as their scenarios expect, 1 if some did not,
2 if some could not be made.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{mainStory}
			}
			list, err := load(args)
			if err != nil {
				return &cli.ExitError{Code: exitCannot, Err: err}
			}
			return runAll(cmd.Context(), list, out, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory for each run's history, verdict and timeline (NAME/VARIANT/…)")
	return cmd
}

// result is what came of a run.
type result struct {
	scenario *scenario.Scenario
	variant  *scenario.Variant
	events   []history.Event
	verdict  verdict.Verdict
	err      error // it could not be made
}

// runAll runs scenarios one after the other, and the variants of each side by
// side.
func runAll(ctx context.Context, list []*scenario.Scenario, out string, w io.Writer) error {
	exe, err := os.Executable()
	if err != nil {
		return &cli.ExitError{Code: exitCannot, Err: err}
	}
	var results []result
	for _, s := range list {
		some, err := runVariants(ctx, exe, s, w)
		if err != nil {
			return &cli.ExitError{Code: exitCannot, Err: fmt.Errorf("print: %w", err)}
		}
		results = append(results, some...)
		if out != "" {
			if err := save(out, some); err != nil {
				return &cli.ExitError{Code: exitCannot, Err: fmt.Errorf("save: %w", err)}
			}
		}
		if ctx.Err() != nil {
			return &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before the end")}
		}
	}
	return summary(w, results)
}

// runVariants runs the variants of a scenario, all at once. They are drawn one
// after the other: the first one live, the others when they are over.
func runVariants(ctx context.Context, exe string, s *scenario.Scenario, w io.Writer) ([]result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := newDrawing(w)
	first.failed = cancel // nobody sees the rest
	runs := make([]chan result, len(s.Variants))
	for i := range s.Variants {
		v := &s.Variants[i]
		options := lab.Options{Exe: exe}
		if i == 0 {
			options.Emit = first.event
		}
		runs[i] = make(chan result, 1)
		go func() {
			r := result{scenario: s, variant: v}
			if r.events, r.err = lab.Run(ctx, s, v, options); r.err == nil {
				r.verdict = verdict.Judge(r.events)
			}
			runs[i] <- r
		}()
	}
	var results []result
	var failed error
	for i, run := range runs {
		r := <-run
		d := first
		if i > 0 {
			d = newDrawing(w)
			fmt.Fprintln(w)
			for _, e := range r.events {
				d.event(e)
			}
		}
		if r.err == nil {
			d.end(outcome(r.verdict))
		}
		results = append(results, r)
		if failed == nil {
			failed = d.err
		}
	}
	return results, failed
}

// drawing is a timeline in a terminal, which ends where it cannot be written.
type drawing struct {
	term   *report.Terminal
	err    error
	failed func()
}

func newDrawing(w io.Writer) *drawing {
	return &drawing{term: report.NewTerminal(w, report.Detect(w, os.Environ())), failed: func() {}}
}

func (d *drawing) event(e history.Event) {
	if e.Kind == history.KindRun {
		d.draw(func() error { return d.term.Begin(*e.Run) })
	} else {
		d.draw(func() error { return d.term.Event(e) })
	}
}

func (d *drawing) end(o report.Outcome) { d.draw(func() error { return d.term.End(o) }) }

func (d *drawing) draw(some func() error) {
	if d.err != nil {
		return
	}
	if d.err = some(); d.err != nil {
		d.failed()
	}
}

func outcome(v verdict.Verdict) report.Outcome {
	o := report.Outcome{Name: v.Name, OK: v.OK(), Mismatches: v.Mismatches}
	for _, violation := range v.Violations {
		o.Violations = append(o.Violations, violation.Text)
	}
	return o
}

// summary says in a line per run what came out, and makes the exit status.
func summary(w io.Writer, results []result) error {
	var cannot []error
	differs := 0
	fmt.Fprintln(w)
	for _, r := range results {
		name := r.scenario.Name + " " + r.variant.Name
		switch {
		case r.err != nil:
			cannot = append(cannot, fmt.Errorf("%s: %w", name, r.err))
			fmt.Fprintf(w, "%s: could not be run\n", name)
		case !r.verdict.OK():
			differs++
			fmt.Fprintf(w, "%s: %s, NOT as expected\n", name, r.verdict.Name)
		default:
			fmt.Fprintf(w, "%s: %s, as expected\n", name, r.verdict.Name)
		}
	}
	switch {
	case len(cannot) > 0:
		return &cli.ExitError{Code: exitCannot, Err: errors.Join(cannot...)}
	case differs > 0:
		return &cli.ExitError{Code: exitDiffers, Err: fmt.Errorf("%d of %d runs did not come out as expected", differs, len(results))}
	}
	return nil
}
