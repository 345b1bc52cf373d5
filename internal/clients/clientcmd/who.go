package clientcmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

func whoCommand(c *config) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who NAME",
		Short: "Tell who holds a lock, and who waits for it",
		Args:  cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.connect(cmd, nil)
			if err != nil {
				return err
			}
			defer s.close()
			ask, can := s.locks.(lock.Inspector)
			if !can {
				return fmt.Errorf("locks of %s do not tell who holds them", c.service)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), requestTimeout)
			defer cancel()
			state, err := ask.Inspect(ctx, args[0])
			if err != nil {
				return err
			}
			tell(cmd.OutOrStdout(), args[0], state)
			return nil
		},
	}
	c.addSettings(cmd.Flags(), func(s setting.Setting) bool { return s.Name == service.By })
	return cmd
}

// tell says who has a lock, and who waits for it.
func tell(w io.Writer, name string, state lock.State) {
	if len(state.Holders) == 0 {
		fmt.Fprintf(w, "%s is free\n", name)
	}
	for _, h := range state.Holders {
		fmt.Fprintf(w, "%s is held: %s\n", name, about(h))
	}
	for _, p := range state.Waiters {
		fmt.Fprintf(w, "%s is waited for: %s\n", name, about(p))
	}
	if !state.Queue {
		fmt.Fprintf(w, "the lock service does not know who waits for %s\n", name)
	}
}

// about is what is known of one who holds a lock or waits for it. What others have written is in
// quotes: it may be anything.
func about(p lock.Party) string {
	parts := []string{p.Mode.String()}
	if p.Token != 0 {
		parts = append(parts, "token "+p.Token.String())
	}
	if p.Left != 0 {
		parts = append(parts, p.Left.Round(time.Millisecond).String()+" left")
	}
	if p.Words != "" {
		parts = append(parts, fmt.Sprintf("%q", p.Words))
	}
	return strings.Join(append(parts, fmt.Sprintf("owner %q", p.Owner)), ", ")
}
