package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the scenarios",
		Long: `list lists the scenarios that gcsim brings with it. "gcsim explain NAME" tells what
one teaches, "gcsim run NAME" runs it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := builtin()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range all {
				fmt.Fprintf(w, "%s\t%d variants\t%s\n", s.Name, len(s.Variants), s.Title)
			}
			return w.Flush()
		},
	}
}
