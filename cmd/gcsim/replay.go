package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/report/story"
)

func replayCommand() *cobra.Command {
	var l look
	var p pace
	cmd := &cobra.Command{
		Use:   "replay HISTORY...",
		Short: "Tell saved histories again, at your pace",
		Long: `replay tells the runs of history.jsonl files as "gcsim run" tells them: of each
scenario the control first. A - reads standard input. Nothing is run.

Exit status: 0 if all were told, 2 if a file is no history or cannot be judged.`,
		Example: `  gcsim run -o out gc-pause
  gcsim replay --step out/01-gc-pause/*/history.jsonl
  gcsim replay --slow=3s out/01-gc-pause/fenced/history.jsonl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := replay(cmd, args, l, p)
			if err != nil && cmd.Context().Err() != nil {
				return &cli.ExitError{Code: exitStopped}
			}
			return cannot(err)
		},
	}
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
	results := readHistories(files, cmd.InOrStdin())
	told := controlFirst(results, func(r story.Result) story.Result { return r })
	if err := drawEach(out, options, told); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if err := reasons(results); err != nil {
		return err
	}
	if ofOneScenario(told) {
		(&printer{out: out, width: options.Width}).lesson(told[0].Run())
	}
	return out.err
}
