package storagecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

func restoreCommand() *cobra.Command {
	c := engineConfig{fencing: fencingOn}
	var floor string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put the values of a snapshot back, without lowering a mark",
		Args:  cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.restore(cmd.Context(), args[0], floor, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
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
