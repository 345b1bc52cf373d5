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
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := builtin()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range all {
				fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
			}
			return w.Flush()
		},
	}
}
