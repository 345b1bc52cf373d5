package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/report"
)

func drawCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "draw HISTORY...",
		Short: "Draw saved histories as an SVG picture",
		Long: `draw makes one picture of the runs that history.jsonl files tell of, one below
the other. A - reads standard input.`,
		Example: `  gcsim run -o out gc-pause
  gcsim draw out/01-gc-pause/*/history.jsonl > pause.svg`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if filepath.Ext(out) == ".jsonl" { // as of the first of "-o */history.jsonl"
				return &cli.ExitError{Code: exitCannot, Err: fmt.Errorf("-o %s: the picture would take the place of a history", out)}
			}
			results, err := readHistories(args, cmd.InOrStdin())
			if err != nil {
				return &cli.ExitError{Code: exitCannot, Err: err}
			}
			var drawings []report.Drawing
			for _, r := range results {
				drawings = append(drawings, report.Drawing{Events: r.Events, Outcome: r.Outcome})
			}
			draw := func(w io.Writer) error { return report.SVG(w, drawings...) }
			if out == "" {
				return draw(cmd.OutOrStdout())
			}
			return write(out, draw)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file for the picture (default: standard output)")
	return cmd
}
