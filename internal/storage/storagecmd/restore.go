package storagecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func restoreCommand() *cobra.Command {
	c := engineConfig{fencing: fencingOn}
	var floor string
	cmd := cli.Command("restore FILE", "Put the values of a snapshot back, without lowering a mark", cli.Args(1, 1), func(cmd *cobra.Command, args []string) error {
		return c.restore(cmd.Context(), args[0], floor, cmd.InOrStdin(), cmd.OutOrStdout())
	})
	c.kind = engineBolt
	c.add(cmd.Flags())
	cmd.Flags().Lookup("issuer").Usage = "addresses of the etcd whose locks' create revisions are the tokens: the floor is raised above all that it has issued"
	cmd.Flags().StringVar(&floor, "floor", "", "lowest token that is to be admitted afterwards, in any scope; it cannot be lowered again")
	return cmd
}

func (c *engineConfig) restore(ctx context.Context, file, floor string, stdin io.Reader, stdout io.Writer) (err error) {
	var token fence.Token
	if floor != "" {
		if token, err = fence.ParseToken(floor); err != nil {
			return usage("--floor: %w", err)
		}
	}
	if c.kind == engineMemory {
		return usage("the engine memory has nothing to restore to: say --engine bolt or --engine etcd")
	}
	r := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		// Before anything is opened, which may make an empty database.
		if err := whole(f); err != nil {
			return fmt.Errorf("%s: nothing was changed: %w", file, err)
		}
		r = f
	}
	s, err := c.open(kv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.bound != nil {
		issued, err := s.bound(fence.Claim{Token: math.MaxInt64})
		if err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		if token > issued+1 {
			return usage("--floor is %d, and no token over %d has been issued: all holders would be locked out", token, issued)
		}
		token = issued + 1
	}
	if err := s.engine.(kv.Restorer).Restore(ctx, withFloor(token, kv.ReadSnapshot(r))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	n, err := s.engine.Stats(ctx)
	if err != nil {
		return err
	}
	now, err := s.engine.Floor(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "restored %d keys; %d scopes have a mark of their own, the floor of all is %d\n", n.Keys, n.Marks, now)
	return nil
}

// whole reads a snapshot to its end, and goes back to its beginning.
func whole(f *os.File) error {
	for _, err := range kv.ReadSnapshot(f) {
		if err != nil {
			return err
		}
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// withFloor has a snapshot raise the floor as well, in the same step: between two
// steps an old holder could write over what was restored.
func withFloor(token fence.Token, entries iter.Seq2[kv.Entry, error]) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		if token != 0 && !yield(kv.Entry{Kind: kv.EntryFloor, Token: token}, nil) {
			return
		}
		entries(yield)
	}
}

func floorCommand() *cobra.Command {
	var c engineConfig
	var storage storageflags.Flags
	var locks []string
	cmd := cli.Command("floor [TOKEN]", "Drop the marks that no live tenure can need", cli.Args(0, 1), func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), floorTimeout)
		defer cancel()
		token, err := c.floor(ctx, args, locks)
		if err != nil {
			return err
		}
		return raise(ctx, &storage, token, cmd.OutOrStdout())
	})
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
