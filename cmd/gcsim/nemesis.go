package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/nemesis"
)

func nemesisCommand() *cobra.Command {
	var c nemesis.Config
	cmd := &cobra.Command{
		Use:   "nemesis",
		Short: "Pause whoever holds a lock, until its successor has written",
		Long: `nemesis waits for a "client work" to hold the lock and stops its process. When
its lease has run out and another client has taken the lock and written, it lets
it go on, and watches the storage refuse what it writes. After some pauses it
waits until the clients have ended. It is a part of the demo in the Procfile.

Exit status: 0 if the storage refused at least one stale write.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Log = cli.Logger(cmd.ErrOrStderr(), slog.LevelInfo)
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), c.Deadline, fmt.Errorf("the demo is not over after %v", c.Deadline))
			defer cancel()
			refused, err := nemesis.Run(ctx, c)
			if cmd.Context().Err() != nil {
				return &cli.ExitError{Code: exitStopped} // what it broke off is of no interest
			}
			if cause := context.Cause(ctx); cause != nil {
				return errors.Join(cause, err)
			}
			if err == nil && refused == 0 {
				err = errors.New("the storage refused no stale write")
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.Endpoints, "endpoints", []string{"127.0.0.1:2379"}, "etcd's addresses")
	f.StringVar(&c.Storage, "storage", "http://127.0.0.1:8080", "the storage's URL")
	f.StringVar(&c.Lock, "lock", "/lock", "the lock whose holder is paused")
	f.IntVar(&c.Pauses, "pauses", 3, "how often")
	f.IntVar(&c.Clients, "clients", 2, "how many clients there are")
	f.DurationVar(&c.Deadline, "deadline", 15*time.Minute, "when to give up; the first run has much to compile")
	return cmd
}
