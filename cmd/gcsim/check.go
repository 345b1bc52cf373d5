package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report"
)

func checkCommand() *cobra.Command {
	var ascii bool
	cmd := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge saved histories again",
		Long: `check draws the runs that history.jsonl files tell of, and judges them, without
running anything. A - reads standard input.

Exit status: 0 if all came out as expected, 1 if some did not, 2 if a file is no
history or tells of a run that could not be made.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := readHistories(args, cmd.InOrStdin())
			if err != nil {
				return &cli.ExitError{Code: exitCannot, Err: err}
			}
			w := cmd.OutOrStdout()
			look := report.Detect(w, os.Environ())
			look.ASCII = ascii
			for i, r := range results {
				if i > 0 {
					fmt.Fprintln(w)
				}
				if err := drawResult(w, look, r); err != nil {
					return &cli.ExitError{Code: exitCannot, Err: err}
				}
			}
			return status(results)
		},
	}
	cmd.Flags().BoolVar(&ascii, "ascii", false, "draw with ASCII only")
	return cmd
}

// readHistories reads files and judges what they tell of.
func readHistories(files []string, stdin io.Reader) ([]report.Result, error) {
	var results []report.Result
	for _, file := range files {
		events, err := readHistory(file, stdin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		r := resultOf(events)
		if r.Err != nil {
			return nil, fmt.Errorf("%s: it tells of a run that could not be made: %w", file, r.Err)
		}
		results = append(results, r)
	}
	return results, nil
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
