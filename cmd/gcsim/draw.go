package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

func drawCommand() *cobra.Command {
	var out string
	var narrow bool
	cmd := &cobra.Command{
		Use:   "draw HISTORY...",
		Short: "Draw saved histories as an SVG picture",
		Long: `draw makes one picture of the runs that history.jsonl files tell of, one below
the other. A - reads standard input. A file that is no history is said, and left
out; a run that could not be made, or cannot be judged, is drawn as far as it goes.

Exit status: 0 if all were drawn with a verdict, else 2.`,
		Example: `  gcsim run -o out gc-pause
  gcsim draw out/01-gc-pause/*/history.jsonl > pause.svg`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if filepath.Ext(out) == ".jsonl" { // as of the first of "-o */history.jsonl"
				return cannot(fmt.Errorf("-o %s: the picture would take the place of a history", out))
			}
			results := readHistories(args, cmd.InOrStdin())
			layout := svg.Wide
			if narrow {
				layout = svg.Narrow
			}
			return cannot(errors.Join(reasons(results), drawAll(cmd.OutOrStdout(), out, layout, results)))
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file for the picture (default: standard output)")
	cmd.Flags().BoolVar(&narrow, "narrow", false, "the form for phones")
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
