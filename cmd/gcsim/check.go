package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report"
	"github.com/fencelab/fencelab/internal/verdict"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge saved histories again",
		Long: `check draws the runs that history.jsonl files tell of, and judges them, without
running anything. A - reads standard input.

Exit status: 0 if all came out as expected, 1 if some did not, 2 if a file is no
history or tells of a run that could not be made.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			drawings, err := readHistories(args, cmd.InOrStdin())
			if err != nil {
				return &cli.ExitError{Code: exitCannot, Err: err}
			}
			w := cmd.OutOrStdout()
			differs := 0
			for i, d := range drawings {
				if i > 0 {
					fmt.Fprintln(w)
				}
				again := newDrawing(w)
				for _, e := range d.Events {
					again.event(e)
				}
				if again.end(d.Outcome); again.err != nil {
					return &cli.ExitError{Code: exitCannot, Err: again.err}
				}
				if !d.Outcome.OK {
					differs++
				}
			}
			if differs > 0 {
				return &cli.ExitError{Code: exitDiffers, Err: fmt.Errorf("%d of %d runs did not come out as expected", differs, len(drawings))}
			}
			return nil
		},
	}
}

// readHistories reads files and judges what they tell of.
func readHistories(files []string, stdin io.Reader) ([]report.Drawing, error) {
	var drawings []report.Drawing
	for _, file := range files {
		events, err := readHistory(file, stdin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, e := range events {
			if e.Kind == history.KindError {
				return nil, fmt.Errorf("%s: it tells of a run that could not be made: %s", file, e.Text)
			}
		}
		drawings = append(drawings, report.Drawing{Events: events, Outcome: outcome(verdict.Judge(events))})
	}
	return drawings, nil
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
