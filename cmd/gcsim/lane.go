package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/terminals"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
)

func laneCommand() *cobra.Command {
	var at string
	cmd := cli.Command("lane NAME --at ADDRESS", "Show what a process of a run says, in a terminal of its own", cli.Args(1, 1), func(cmd *cobra.Command, args []string) error {
		fmt.Fprintf(cmd.ErrOrStderr(), "waiting for a run with --lanes %s\n", at)
		err := terminals.Show(cmd.Context(), at, args[0], cmd.OutOrStdout())
		if cmd.Context().Err() != nil {
			return &cli.ExitError{Code: exitStopped} // what it broke off is of no interest
		}
		return err
	})
	cmd.Flags().StringVar(&at, "at", "", "address of the run's --lanes")
	_ = cmd.MarkFlagRequired("at") // it is there
	return cmd
}

func awaitLanes(cmd *cobra.Command, addr string, list []*scenario.Scenario) (*terminals.Lanes, error) {
	names := []string{history.LaneStorage}
	for _, s := range list {
		names = append(names, s.Clients...)
		for _, v := range s.Variants {
			names = append(names, v.World.Service)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	l, err := terminals.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("--lanes %s: %w", addr, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "waiting for the lanes %s\n", strings.Join(names, ", "))
	if err := l.Await(cmd.Context(), names); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// refusals say how often the storage protected what the lock guards.
func refusals(results []story.Result) string {
	var each []string
	for _, r := range results {
		each = append(each, fmt.Sprintf("%d in %s", r.Outcome.Facts.Stale, r.Name()))
	}
	return "stale requests that the storage refused: " + strings.Join(each, ", ")
}
