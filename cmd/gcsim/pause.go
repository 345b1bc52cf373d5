package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
)

func pauseCommand() *cobra.Command {
	var pid int
	var length time.Duration
	cmd := cli.Command("pause --pid N --for DURATION", "Stop a process for a while, whoever's it is", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		if pid <= 1 || length <= 0 {
			return cannot(fmt.Errorf("want --pid N of a process and --for with a time over 0, got --pid %d --for %v", pid, length))
		}
		p, err := proc.Find(pid)
		if err != nil {
			return err
		}
		defer p.Close()
		return pause(cmd.Context(), p, length, func(format string, args ...any) {
			fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
		})
	})
	cmd.Flags().IntVar(&pid, "pid", 0, "the process")
	cmd.Flags().DurationVar(&length, "for", 2*time.Second, "how long, for instance 2s or 1m30s")
	return cmd
}

func pause(ctx context.Context, p *proc.Other, length time.Duration, say func(string, ...any)) (err error) {
	began := time.Now()
	if err := p.Pause(ctx); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, p.Resume())
		say("process %d goes on; it stood still for %v", p.PID, time.Since(began).Round(time.Millisecond))
	}()
	say("process %d stands still", p.PID)
	if !sleep.For(ctx, length) {
		return &cli.ExitError{Code: exitStopped}
	}
	return nil
}
