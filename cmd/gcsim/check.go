package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

func checkCommand() *cobra.Command {
	var o reports
	cmd := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge saved histories again",
		Long: `check draws the runs that history.jsonl files tell of, and judges them, without
running anything. A - reads standard input. A file that is no history, or one that
cannot be judged, is said; the others are judged all the same.

With -o each run has a directory, as "gcsim run" makes it, by the names in the
first line of its history: NAME/VARIANT, and one more for each where there are
several of one variant.

Exit status: 0 if all came out as expected, 1 if some did not, 2 if a file is no
history, cannot be judged, or tells of a run that could not be made, 3 if some
runs are undecided and none of that is so.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := o.check(cmd, args)
			if err = errors.Join(reasons(results), err); err != nil {
				return cannot(err)
			}
			return status(results)
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

// check judges files, prints and saves what comes of it.
func (o reports) check(cmd *cobra.Command, files []string) ([]story.Result, error) {
	if err := notEmpty(cmd.Flags()); err != nil {
		return nil, err
	}
	results := readHistories(files, cmd.InOrStdin())
	if o.out != "" {
		if err := canKeep(o.out, results); err != nil {
			return results, err
		}
	}
	if err := o.prepare(slices.DeleteFunc(slices.Clone(results), isUnread)); err != nil {
		return results, err
	}
	if err := o.print(cmd.OutOrStdout(), results); err != nil {
		return results, fmt.Errorf("print: %w", err)
	}
	var errs []error
	for _, r := range results {
		if o.out != "" {
			errs = append(errs, saveResult(o.out, r))
		}
	}
	if err := errors.Join(append(errs, o.save(results))...); err != nil {
		return results, fmt.Errorf("save: %w", err)
	}
	return results, nil
}

// isUnread reports whether a file could not be read.
func isUnread(r story.Result) bool { return len(r.Events) == 0 }

// canKeep has what cannot be kept by the names that it brings count as unread, and
// refuses a directory where old files are removed if one of them could not be read:
// nobody could write it again.
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

// isIn reports whether a file is below a directory.
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

// drawEach draws runs one after the other.
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

// readHistories reads files and judges what they tell of. Those of one variant are
// its rounds.
func readHistories(files []string, stdin io.Reader) []story.Result {
	results := make([]story.Result, len(files))
	rounds := make(map[string][]int) // directory of a run → its results
	for i, file := range files {
		r := readResult(file, stdin)
		if results[i] = r; !isUnread(r) {
			rounds[r.Dir()] = append(rounds[r.Dir()], i)
		}
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

// readResult is what came of the run that a file tells of.
func readResult(file string, stdin io.Reader) story.Result {
	events, err := readHistory(file, stdin)
	if err != nil {
		return unread(file, err)
	}
	r := resultOf(events, nil)
	r.File, r.Took = file, events[len(events)-1].At
	return r
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
	for _, name := range []string{run.Scenario, run.Variant} {
		if !isName(name) || filepath.Base(name) != name {
			return fmt.Errorf("line 1: a run is kept by the names of its scenario and variant, and %q is no name", name)
		}
	}
	return nil
}
