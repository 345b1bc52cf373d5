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

// runVariants runs the variants of a scenario. All run at once; they are drawn
// one after the other, the first one live.
func runVariants(ctx context.Context, exe string, s *scenario.Scenario, w io.Writer) ([]result, error) {
	type live struct {
		events chan history.Event
		result chan result
	}
	runs := make([]live, len(s.Variants))
	for i := range s.Variants {
		v := &s.Variants[i]
		l := live{make(chan history.Event, 4096), make(chan result, 1)}
		runs[i] = l
		go func() {
			events, err := lab.Run(ctx, s, v, lab.Options{Exe: exe, Emit: func(e history.Event) { l.events <- e }})
			close(l.events)
			r := result{scenario: s, variant: v, events: events, err: err}
			if err == nil {
				r.verdict = verdict.Judge(events)
			}
			l.result <- r
		}()
	}
	var results []result
	var failed error
	for i, l := range runs {
		term := report.NewTerminal(w, report.Detect(w, os.Environ()))
		if i > 0 {
			_, err := fmt.Fprintln(w)
			failed = errors.Join(failed, err)
		}
		for e := range l.events {
			if e.Kind == history.KindRun {
				failed = errors.Join(failed, term.Begin(*e.Run))
			} else {
				failed = errors.Join(failed, term.Event(e))
			}
		}
		r := <-l.result
		if r.err == nil {
			failed = errors.Join(failed, term.End(outcome(r.verdict)))
		}
		results = append(results, r)
	}
	return results, failed
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
