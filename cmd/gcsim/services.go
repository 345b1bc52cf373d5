package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/service/all"
)

func servicesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "services",
		Short: "List the lock services, and what those need that are missing",
		Long: `services lists the lock services that scenarios can use: where each is found, or,
of one that is missing, the command that brings it. Scenarios of a service that
is missing are skipped; with "gcsim run --require all" that is an error.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range all.List {
				where, bring := s.Found()
				if where == "" {
					where = "missing: " + bring
				}
				own, err := ofService(s.Name())
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", s.Name(), len(own), where)
			}
			return w.Flush()
		},
	}
}
