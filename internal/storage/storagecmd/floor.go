package storagecmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func floorCommand() *cobra.Command {
	var c engineConfig
	var storage storageflags.Flags
	var locks []string
	cmd := &cobra.Command{
		Use:   "floor [TOKEN]",
		Short: "Drop the marks that no live tenure can need",
		Args:  cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), floorTimeout)
			defer cancel()
			token, err := c.floor(ctx, args, locks)
			if err != nil {
				return err
			}
			return raise(ctx, &storage, token, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	storage.Add(f)
	f.StringSliceVar(&c.issuer, "issuer", nil, "addresses of the etcd whose locks' create revisions are the tokens")
	f.StringSliceVar(&locks, "locks", nil, "what the names of the locks begin with")
	c.addTLS(f)
	return cmd
}

// floorTimeout is long: a million marks take a while.
const floorTimeout = 5 * time.Minute

// floor is the token that was given, or the one that the issuer says.
func (c *engineConfig) floor(ctx context.Context, args, locks []string) (fence.Token, error) {
	switch {
	case len(args) == 1 && len(c.issuer)+len(locks) > 0:
		return 0, usage("give a token, or --issuer and --locks, not both")
	case len(args) == 1:
		token, err := fence.ParseToken(args[0])
		if err != nil {
			return 0, usage("TOKEN: %w", err)
		}
		return token, nil
	case len(c.issuer) == 0 || len(locks) == 0:
		return 0, usage("--issuer says who gives out the tokens, and --locks for which locks: both are needed")
	}
	client, err := c.dial("issuer", c.issuer)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	return etcdlock.Oldest(ctx, client, locks...)
}

func raise(ctx context.Context, storage *storageflags.Flags, token fence.Token, stdout io.Writer) error {
	if err := storage.Check(); err != nil {
		return usage("%w", err)
	}
	client, err := storage.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	dropped, err := client.Raise(ctx, token)
	if err != nil {
		return fmt.Errorf("storage at %s, floor %d: %w", storage.URL, token, err)
	}
	fmt.Fprintf(stdout, "floor %d: dropped %d marks\n", token, dropped)
	return nil
}
