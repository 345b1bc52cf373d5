package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

const (
	exitDiffers = 1 // a run did not come out as it must
	exitCannot  = 2 // a run could not be made
	exitOpen    = 3 // of a run nobody knows whether it came out as it must
	exitStopped = 130
)

// cannot asks for exitCannot by an error, unless that is none, or asks for an exit status itself.
func cannot(err error) error {
	if _, asks := err.(*cli.ExitError); err == nil || asks {
		return err
	}
	return &cli.ExitError{Code: exitCannot, Err: err}
}

// requireEnv is what --require is where nobody says: CI sets it, for tests too.
const requireEnv = "FENCELAB_REQUIRE"

type runOptions struct {
	reports
	pace
	side, repeat int
	places
	storage ownStorage
	lanes   string
	seed    uint64
	verbose bool
	require string
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:               "run [NAME|FILE|DIR]...",
		Short:             "Run scenarios; without an argument, all of them",
		ValidArgsFunction: scenarioNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	o.reports.flags(f)
	o.pace.flags(f)
	f.IntVarP(&o.side, "jobs", "j", defaultSide, "how many runs to make side by side")
	f.IntVar(&o.repeat, "repeat", 1, "how often to run each variant")
	o.places.flags(f)
	o.storage.flags(f)
	f.StringVar(&o.lanes, "lanes", "", "address of a unix socket, such as @demo: wait there for a \"gcsim lane\" for each process, and show in it what the process says; runs are made one after the other")
	f.Uint64Var(&o.seed, "seed", 0, "for random choices; each round has the next number (default: random, and printed)")
	f.StringVar(&o.require, "require", os.Getenv(requireEnv), "\"all\": a scenario whose lock service is missing is an error, and not left out (default: what "+requireEnv+" says)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "draw the timeline of every run")
	return cmd
}

// run runs what the arguments name, and says how it ended.
func (o runOptions) run(cmd *cobra.Command, args []string) error {
	results, err := o.results(cmd, args)
	switch {
	case cmd.Context().Err() != nil:
		over := 0
		for _, r := range results {
			if r.Err == nil && r.Skipped == "" {
				over++
			}
		}
		stopped := fmt.Errorf("stopped before all was told: %d of %d runs were over", over, len(results))
		return &cli.ExitError{Code: exitStopped, Err: errors.Join(stopped, err)}
	case err != nil:
		return cannot(err)
	}
	return status(results)
}

// results are what the runs come to.
func (o runOptions) results(cmd *cobra.Command, args []string) (results []story.Result, err error) {
	waits := o.waits(cmd.ErrOrStderr())
	shared := &lab.Shared{Exe: exe, Waits: waits}
	var ended error
	err = fail.Caught(func() { results, ended = o.carryOut(cmd, args, lab.Options{Exe: exe, Shared: shared, Waits: waits}) })
	return results, errors.Join(err, ended, shared.Close())
}

// waits tells people of a server that takes long to start. Who reads JSON has nothing to do about it.
func (o runOptions) waits(w io.Writer) func(text string) {
	if o.json {
		return nil
	}
	return func(text string) { fmt.Fprintln(w, text) }
}

// carryOut makes the runs. It fails before the first one where that cannot begin, and returns an error that comes later.
func (o runOptions) carryOut(cmd *cobra.Command, args []string, options lab.Options) ([]story.Result, error) {
	if o.side < 1 || o.repeat < 1 {
		fail.If(fmt.Errorf("want --jobs and --repeat of 1 or more, got %d and %d", o.side, o.repeat))
	}
	if o.require != "" && o.require != "all" {
		fail.If(fmt.Errorf("want --require all, or nothing, got %q", o.require))
	}
	fail.If(cmp.Or(notEmpty(cmd.Flags()), o.storage.check()))
	text := fail.Must(o.look.on(cmd.OutOrStdout()))
	text.Pace = fail.Must(o.pace.wait(cmd))
	list := fail.Must(load(args, cmd.ErrOrStderr()))
	if o.seed == 0 {
		o.seed = 1 + rand.Uint64N(1_000_000) // short enough to be typed again
	}
	found := fail.Must(o.places.find(list))
	var lacking error
	if missing := found.missing(list); o.require != "" && len(missing) > 0 {
		lacking = errors.New(strings.Join(missing, "; "))
	}
	options.Services, options.Seed = found.services, o.seed
	if o.lanes != "" && lacking == nil {
		open := fail.Must(awaitLanes(cmd, o.lanes, list))
		defer open.Close()
		options.Lane, o.side = open.Lane, 1
	}
	jobs := plan(list, o.repeat, options)
	var runs []story.Result
	for _, j := range jobs {
		if j.options.Endpoints = found.endpoints[j.variant.World.Service]; lacking == nil {
			j.skipped = found.skips(j.variant)
		}
		runs = append(runs, j.result())
	}
	fail.If(o.prepare(runs))
	err := lacking
	if err == nil {
		err = found.reach(cmd.Context())
	}
	if err == nil {
		err = o.storage.place(cmd.Context(), jobs)
	}
	if err != nil {
		return nil, errors.Join(err, o.notMade(cmd.OutOrStdout(), jobs, err))
	}
	drawn := o.verbose || o.pace.set() || len(list) == 1 && o.repeat == 1
	if drawn && !o.json {
		jobs = story.ControlFirst(jobs, (*job).result)
	}
	return o.runAll(cmd, jobs, text, drawn)
}

// notMade reports for machines that none of the runs could be made, and why.
func (o runOptions) notMade(w io.Writer, jobs []*job, why error) error {
	var results []story.Result
	for _, j := range jobs {
		r := j.result()
		if r.Began = time.Now(); r.Skipped == "" {
			r.Err = why
		}
		results = append(results, r)
	}
	if o.json {
		return errors.Join(ci.JSON(w, results), o.save(results))
	}
	return o.save(results)
}

// runAll makes the runs, prints and saves what comes of them.
func (o runOptions) runAll(cmd *cobra.Command, jobs []*job, look terminal.Options, drawn bool) (results []story.Result, err error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	out := &output{Writer: cmd.OutOrStdout(), failed: cancel}
	pool := &pool{side: o.side}
	if o.out != "" {
		pool.save = func(r story.Result) error { return saveResult(o.out, r) }
	}
	line := newProgress(cmd.ErrOrStderr(), func() string { return pool.progress(len(jobs), time.Now()) })
	var text *printer
	if !o.json {
		text = newPrinter(out, line, look, jobs, drawn, drawn && !o.pace.set())
	}
	pool.start(ctx, jobs)
	for _, j := range jobs {
		r := <-j.done
		results = append(results, r)
		if text == nil {
			continue
		}
		if text.catchUp(); ctx.Err() == nil {
			line.print(func() { text.result(r) })
		}
	}
	line.end()
	switch {
	case o.json:
		_ = ci.JSON(out, results) // out keeps the error
	case cmd.Context().Err() == nil:
		text.summary(results)
	}
	if err = errors.Join(append(pool.unsaved, o.save(results))...); err != nil {
		err = fmt.Errorf("save: %w", err)
	}
	if text != nil && err == nil && cmd.Context().Err() == nil && status(results) == nil {
		text.next(results, o.page())
	}
	if text != nil && o.lanes != "" {
		text.tell(refusals(results))
	}
	if out.err != nil {
		err = errors.Join(fmt.Errorf("print: %w", out.err), err)
	}
	return results, err
}

// status is how gcsim ends after runs.
func status(results []story.Result) error {
	c := story.CountOf(results)
	switch {
	case c.Cannot > 0:
		return cannot(fmt.Errorf("%d of %d runs could not be made", c.Cannot, c.Runs))
	case c.Runs == 0:
		return cannot(errors.New("nothing was run"))
	case c.Differ > 0:
		return &cli.ExitError{Code: exitDiffers, Err: fmt.Errorf("%d of %d runs did not come out as expected", c.Differ, c.Runs)}
	case c.Harmed > 0:
		return &cli.ExitError{Code: exitDiffers, Err: fmt.Errorf("%d of %d runs are not safe", c.Harmed, c.Runs)}
	case c.Open > 0:
		return &cli.ExitError{Code: exitOpen, Err: fmt.Errorf("%d of %d runs are undecided", c.Open, c.Runs)}
	}
	return nil
}
