// Package clientcmd is the command "client": it takes a lock in etcd and works
// on a storage under it. It is a package so that gcsim, a single binary, can be
// its own client process.
package clientcmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/storageflags"
)

type config struct {
	endpoints      []string
	storage        storageflags.Flags
	lock           string
	name           string
	ttl            time.Duration
	token          choice
	connectTimeout time.Duration
}

// Command is the command "client".
func Command() *cobra.Command {
	c := config{token: oneOf(tokenRevision, tokenHeader, tokenLease, tokenMax)}
	cmd := &cobra.Command{
		Use:   "client 1|2",
		Short: "A lock client: contrib/lock's clients 1 and 2, scripted, or wrapping a command",
		Long: `client takes a lock in etcd and works on a storage under it.

"client 1" and "client 2" are those of etcd's contrib/lock. Client 1 takes the
lock and waits for a key to be hit. Let its lease end meanwhile, run client 2,
and go on with client 1: the storage refuses its write, because the token is
older than client 2's.`,
		Example: `  client 1
  client agent --name client1
  client exec --lock /backup -- ./backup.sh`,
		Args: func(cmd *cobra.Command, args []string) error { // in place of cobra's, which takes 1 for an unknown command
			if len(args) != 1 {
				return usage(cmd, errors.New("want 1 or 2, or one of the commands agent, exec and work"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return contrib(cmd, &c, args[0]) },
	}
	f := cmd.PersistentFlags()
	f.StringSliceVar(&c.endpoints, "endpoints", []string{"127.0.0.1:2379", "127.0.0.1:22379", "127.0.0.1:32379"}, "etcd's addresses")
	c.storage.Add(f)
	f.StringVar(&c.lock, "lock", "/lock", "name of the lock")
	f.DurationVar(&c.ttl, "ttl", time.Second, "of the lock's lease, in whole seconds")
	f.Var(&c.token, "token", `what to show to the storage: the "revision" at which the lock's key was made; or, to see what goes wrong, that of the "header" of etcd's answer, the ID of the "lease", which is NOT ordered, or "max", 2^63-1`)
	f.StringVar(&c.name, "name", "client", "of this client, in reports and request IDs")
	f.DurationVar(&c.connectTimeout, "connect-timeout", 4*time.Second, "how long to try to reach etcd and the storage at the start")
	cmd.AddCommand(agentCommand(&c), execCommand(&c), workCommand(&c))
	return cmd
}

// usage is the error of a command line that cannot be meant so.
func usage(cmd *cobra.Command, err error) error {
	return &cli.ExitError{Code: 2, Err: fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())}
}
