// Package etcdcmd is the command "gcsim etcd": a throw-away etcd for the lab and
// for people who have none at hand.
package etcdcmd

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/storage/access"
)

// helps is what the command says of itself.
//
//go:embed help
var helps embed.FS

func Command() *cobra.Command {
	var config etcdserver.Config
	var insecure bool
	cmd := cli.Command("etcd", "Serve a throw-away etcd", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		if err := checkListen(config, insecure); err != nil {
			return err
		}
		return run(cmd.Context(), config, cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	f := cmd.Flags()
	f.StringVar(&config.ClientAddr, "listen", "127.0.0.1:2379", "address for clients; port 0 takes a free one, and leaves the JSON out")
	f.StringVar(&config.Dir, "dir", "", "directory for its data, kept at the end (default: one of its own, removed at the end)")
	f.StringVar(&config.Name, "name", "default", "name of the member in its cluster")
	f.StringVar(&config.PeerAddr, "peer", "127.0.0.1:0", "address for the other members")
	f.StringVar(&config.Advertised, "advertise-peer", "", "address at which the other members find it, where that is not --peer but leads there")
	f.StringVar(&config.Cluster, "initial-cluster", "", "all members, as NAME=http://PEER,... (default: this one alone)")
	f.UintVar(&config.MaxTxnOps, "max-txn-ops", 0, "operations in one transaction, at most (default: 2048)")
	f.BoolVar(&config.Fsync, "fsync", false, "sync its files")
	f.BoolVar(&insecure, "insecure", false, "serve addresses that others can reach, who may then do everything")
	cmd.MarkFlagsRequiredTogether("name", "peer", "initial-cluster")
	cli.Help(helps, cmd)
	return cmd
}

// checkListen refuses addresses that others can reach, but not where they are wanted.
func checkListen(config etcdserver.Config, insecure bool) error {
	harm := "whoever reaches this etcd may do everything"
	if insecure {
		harm = ""
	}
	for _, f := range []struct{ name, addr string }{{"--listen", config.ClientAddr}, {"--peer", config.PeerAddr}} {
		if err := access.CheckListen(f.addr, harm); err != nil {
			return &cli.ExitError{Code: 2, Err: fmt.Errorf("%s: %w", f.name, err)}
		}
	}
	return nil
}

// Args are the arguments, from the command's name on, that start a member with c.
func Args(c etcdserver.Config) []string {
	args := []string{"etcd", fmt.Sprintf("--max-txn-ops=%d", c.MaxTxnOps), fmt.Sprintf("--fsync=%t", c.Fsync)}
	for _, f := range []struct{ name, value string }{
		{"--listen", c.ClientAddr}, {"--dir", c.Dir}, {"--name", c.Name}, {"--peer", c.PeerAddr}, {"--advertise-peer", c.Advertised}, {"--initial-cluster", c.Cluster},
	} {
		if f.value != "" {
			args = append(args, f.name, f.value)
		}
	}
	return args
}

// withFlag names the flag of an address that is taken.
func withFlag(config etcdserver.Config, err error) error {
	switch {
	case !errors.Is(err, syscall.EADDRINUSE):
		return err
	case strings.Contains(err.Error(), "listen tcp "+config.PeerAddr+":"):
		return fmt.Errorf("%w; choose another address with --peer", err)
	}
	return fmt.Errorf("%w; choose another address with --listen", err)
}

func run(ctx context.Context, config etcdserver.Config, stdout, stderr io.Writer) (failed error) {
	if config.Dir == "" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		// It has no children; its janitor removes the directory, after a kill -9 too.
		group, err := proc.NewGroup(exe)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, group.Close()) }()
		config.Dir = group.Dir
	}
	server, err := etcdserver.Start(config)
	if err != nil {
		return withFlag(config, err)
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
