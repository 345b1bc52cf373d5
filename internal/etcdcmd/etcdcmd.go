// Package etcdcmd is the command "gcsim etcd": a throw-away etcd for the lab and
// for people who have none at hand.
package etcdcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/etcdserver"
)

// Command is the command "etcd".
func Command() *cobra.Command {
	var config etcdserver.Config
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Serve a throw-away etcd",
		Long: `etcd serves one etcd member until it is told to end. It prints its address on
standard output when it is ready. Its data goes when it ends, it does not sync
its files, and its clock is tuned so that a lease of one second ends after one
to one and a half: it is for trying things out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), config, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.ClientAddr, "listen", "127.0.0.1:2379", "address for clients; port 0 takes a free one")
	f.StringVar(&config.Dir, "dir", "", "directory for its data, kept at the end (default: one of its own, removed at the end)")
	return cmd
}

func run(ctx context.Context, config etcdserver.Config, stdout, stderr io.Writer) (err error) {
	if config.Dir == "" {
		if config.Dir, err = os.MkdirTemp("", "fencelab-etcd-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(config.Dir)) }()
	}
	server, err := etcdserver.Start(config)
	if err != nil {
		return err
	}
	defer server.Close()
	cli.Logger(stderr, slog.LevelInfo).Info("etcd serves", "endpoint", server.Endpoint())
	if _, err := fmt.Fprintln(stdout, server.Endpoint()); err != nil {
		return err
	}
	select {
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}
