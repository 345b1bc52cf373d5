package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

func checkCommand() *cobra.Command {
	var o reports
	var clocks judge.Clocks
	cmd := cli.Command("check HISTORY...", "Judge saved histories again", cli.Args(1, cli.Any), func(cmd *cobra.Command, args []string) error {
		results, err := o.check(cmd, args, clocks)
		if err = errors.Join(reasons(results), err); err != nil {
			return cannot(err)
		}
		return status(results)
	})
	o.flags(cmd.Flags())
	clocksFlags(cmd.Flags(), &clocks)
	return cmd
}

// check judges files, prints and saves what comes of it.
func (o reports) check(cmd *cobra.Command, files []string, c judge.Clocks) (results []story.Result, err error) {
	err = fail.Caught(func() {
		fail.If(notEmpty(cmd.Flags()))
		results = readHistories(files, cmd.InOrStdin(), c)
		if o.out != "" {
			fail.If(canKeep(o.out, results))
		}
		fail.If(o.prepare(slices.DeleteFunc(slices.Clone(results), isUnread)))
		if err := o.print(cmd.OutOrStdout(), results); err != nil {
			fail.If(fmt.Errorf("print: %w", err))
		}
		var errs []error
		for _, r := range results {
			if o.out != "" {
				errs = append(errs, saveResult(o.out, r))
			}
		}
		if err := errors.Join(append(errs, o.save(results))...); err != nil {
			fail.If(fmt.Errorf("save: %w", err))
		}
	})
	return results, err
}

func isUnread(r story.Result) bool { return len(r.Events) == 0 }

// canKeep has what cannot be kept by the names that it brings count as unread, and refuses a directory where
// old files are removed if one of them could not be read: nobody could write it again.
func canKeep(out string, results []story.Result) error {
	for i, r := range results {
		if !isUnread(r) {
			if err := named(r.Events[0].Run); err != nil {
				results[i] = unread(r.File, err)
			}
			continue
		}
		if isIn(out, r.File) {
			return fmt.Errorf("--out: old files are removed in %s, and %s could not be read: name another directory", out, r.File)
		}
	}
	return nil
}

func isIn(dir, file string) bool {
	dir, err := filepath.Abs(dir)
	file, err2 := filepath.Abs(file)
	if err != nil || err2 != nil {
		return false
	}
	in, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(in)
}

func (o reports) print(w io.Writer, results []story.Result) error {
	if o.json {
		return ci.JSON(w, results)
	}
	options, err := o.look.on(w)
	if err != nil {
		return err
	}
	return drawEach(w, options, results)
}

func drawEach(w io.Writer, o terminal.Options, results []story.Result) error {
	t := terminal.New(w, o)
	for _, r := range slices.DeleteFunc(slices.Clone(results), isUnread) {
		if err := draw(t, r); err != nil {
			return err
		}
	}
	return nil
}

// reasons are why some results have no verdict; nil: all have one.
func reasons(results []story.Result) error {
	var errs []error
	for _, r := range results {
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.File, r.Err))
		}
	}
	return errors.Join(errs...)
}

// readHistories reads files and judges what they tell of. Those of one variant are its rounds.
func readHistories(files []string, stdin io.Reader, c judge.Clocks) []story.Result {
	results := make([]story.Result, len(files))
	rounds := make(map[string][]int) // directory of a run → its results
	for i, file := range files {
		events, err := readHistory(file, stdin)
		if err != nil {
			results[i] = unread(file, err)
			continue
		}
		r := resultBy(events, nil, c)
		r.File, r.Took = file, events[len(events)-1].At
		results[i], rounds[r.Dir()] = r, append(rounds[r.Dir()], i)
	}
	for _, several := range rounds {
		for n, i := range several {
			if len(several) > 1 {
				results[i].Round = n + 1
			}
		}
	}
	return results
}

// unread is a file of which nothing is known but its name.
func unread(file string, err error) story.Result {
	return story.Result{Scenario: file, File: file, Err: err}
}

func readHistory(file string, stdin io.Reader) ([]history.Event, error) {
	if file == "-" {
		return history.Read(stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Read(f)
}

// named refuses runs whose names are none by which files can be called: what is
// kept of a run is below a directory of its scenario and variant.
func named(run *history.Run) error {
	for _, name := range []string{run.Scenario, cmp.Or(run.Variant, run.Scenario)} { // an incident has no variants
		if !isName(name) || filepath.Base(name) != name {
			return fmt.Errorf("line 1: a run is kept by the names of its scenario and variant, and %q is no name", name)
		}
	}
	return nil
}

// unknown is that nothing is known of clocks.
var unknown = judge.Clocks{Skew: -1}

func clocksFlags(f *pflag.FlagSet, c *judge.Clocks) {
	f.DurationVar(&c.TTL, "ttl", 0, "without the lock service's account: how long a lease lasts at least after its client asked for it (default: not known)")
	f.DurationVar(&c.Skew, "skew", -1, "without the lock service's account: by how much the hosts' clocks differ at most; below 0: as the storage's order says")
}

func resultOf(events []history.Event, err error) story.Result { return resultBy(events, err, unknown) }

// resultBy judges a history. That of a run that could not be made has no verdict, but the error that ended
// it: err, or what the history says. Nor has one that cannot be judged.
func resultBy(events []history.Event, err error, c judge.Clocks) story.Result {
	run := events[0].Run
	r := story.Result{Service: run.LockService(), Scenario: run.Scenario, Title: run.Title, Variant: run.Variant, Control: run.Control, Events: events}
	broken := func(e history.Event) bool { return e.Kind == history.KindError }
	if i := slices.IndexFunc(events, broken); err == nil && i >= 0 {
		err = errors.New(events[i].Text)
	}
	if err != nil {
		r.Err = err
		return r
	}
	j, events, err := judgementOf(events, c)
	if err != nil {
		r.Err = err
		return r
	}
	r.Verdict, r.Events = j, events
	r.Outcome = story.Outcome{
		Name: j.Name, OK: j.OK(), Open: !j.OK() && j.Open(), Violations: j.Violations, Noted: j.Noted(), Mismatches: j.Mismatches,
		Facts: story.Facts{
			Stale: j.Stale, Refused: j.Refused, Ordered: &j.Ordered, Exclusive: &j.Exclusive, Fair: j.Fair,
			Fenced: j.Storage.Fenced, Reason: j.Storage.Reason, Final: j.Final,
		},
	}
	if j.Clients != nil {
		r.Outcome.Facts.Ordered, r.Outcome.Facts.Exclusive = nil, nil
		r.Outcome.Facts.Clients = &story.Account{Exclusive: string(j.Clients.Exclusive), Ordered: string(j.Clients.Ordered), Reasons: j.Clients.Reasons}
	}
	if j.Clients != nil || run.Expect.IsNone() {
		r.Outcome.Free, r.Outcome.OK, r.Outcome.Open, r.Outcome.Mismatches = true, j.Name == history.Safe, j.Name == history.Undecided, nil
	}
	return r
}

// judgementOf judges a history. Without the lock service's account it is told by the clocks that were set.
func judgementOf(events []history.Event, c judge.Clocks) (j judge.Judgement, told []history.Event, err error) {
	if !judge.Unserved(events) {
		j, err = judge.Judge(events)
		return j, events, err
	}
	if j, err = judge.ByClients(events, c); err != nil { // the lines that it names are those of the file
		return j, events, err
	}
	if events, c, err = c.Set(events); err == nil && c.AreSet() {
		j, err = judge.ByClients(events, c)
	}
	return j, events, err
}

func replayCommand() *cobra.Command {
	var l look
	var p pace
	cmd := cli.Command("replay HISTORY...", "Tell saved histories again, at your pace", cli.Args(1, cli.Any), func(cmd *cobra.Command, args []string) error {
		err := replay(cmd, args, l, p)
		if err != nil && cmd.Context().Err() != nil {
			return &cli.ExitError{Code: exitStopped}
		}
		return cannot(err)
	})
	l.flags(cmd.Flags())
	p.flags(cmd.Flags())
	return cmd
}

func replay(cmd *cobra.Command, files []string, l look, p pace) error {
	options, err := l.on(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	if options.Pace, err = p.wait(cmd); err != nil {
		return err
	}
	out := &output{Writer: cmd.OutOrStdout()}
	results := readHistories(files, cmd.InOrStdin(), unknown)
	told := story.ControlFirst(results, func(r story.Result) story.Result { return r })
	if err := drawEach(out, options, told); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if err := reasons(results); err != nil {
		return err
	}
	if len(story.Grouped(told, story.OfScenario)) == 1 {
		(&printer{out: out, options: options, width: options.Width}).lesson(told[0].Run())
	}
	return out.err
}

func drawCommand() *cobra.Command {
	var out string
	var narrow, moving bool
	var clocks judge.Clocks
	cmd := cli.Command("draw HISTORY...", "Draw saved histories as an SVG picture", cli.Args(1, cli.Any), func(cmd *cobra.Command, args []string) error {
		if filepath.Ext(out) == ".jsonl" { // as of the first of "-o */history.jsonl"
			return cannot(fmt.Errorf("-o %s: the picture would take the place of a history", out))
		}
		results := readHistories(args, cmd.InOrStdin(), clocks)
		layout := svg.Wide
		if narrow {
			layout = svg.Narrow
		}
		if moving {
			layout = layout.Moving()
		}
		return cannot(errors.Join(reasons(results), drawAll(cmd.OutOrStdout(), out, layout, results)))
	})
	cmd.Flags().StringVarP(&out, "out", "o", "", "file for the picture (default: standard output)")
	cmd.Flags().BoolVar(&narrow, "narrow", false, "the form for phones")
	cmd.Flags().BoolVar(&moving, "moving", false, "the rows come one after the other; all at once for who wants no motion")
	clocksFlags(cmd.Flags(), &clocks)
	return cmd
}

// drawAll draws the runs that there are, in a file if it has a name.
func drawAll(w io.Writer, file string, layout svg.Layout, results []story.Result) error {
	var drawings []story.Drawing
	for _, r := range results {
		if !isUnread(r) {
			drawings = append(drawings, r.Drawing())
		}
	}
	draw := func(w io.Writer) error { return svg.Write(w, layout, drawings...) }
	switch {
	case len(drawings) == 0:
		return nil
	case file == "":
		return draw(w)
	}
	return write(file, draw)
}
