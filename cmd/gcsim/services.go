package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
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

// reach returns when the lock service of scenarios has answered at its endpoints. They
// are those of one service.
func reach(ctx context.Context, list []*scenario.Scenario, endpoints []string) error {
	var used []service.Service
	for _, known := range all.List {
		if slices.ContainsFunc(list, func(s *scenario.Scenario) bool { return s.Variants[0].World.Service == known.Name() }) {
			used = append(used, known)
		}
	}
	if len(used) > 1 {
		return fmt.Errorf("--endpoints are those of one lock service, and the scenarios use %s: run those of one, as by \"gcsim run %s\"",
			strings.Join(service.Names(used), " and "), used[0].Name())
	}
	return used[0].Reach(ctx, endpoints)
}

// missingServices are why scenarios cannot be run, each reason once.
func missingServices(list []*scenario.Scenario) (why []string) {
	for _, s := range list {
		for _, v := range s.Variants {
			if m := missing(v.World.Service); m != "" && !slices.Contains(why, m) {
				why = append(why, m)
			}
		}
	}
	return why
}

// missing is why a service's scenarios cannot be run; "" where they can.
func missing(name string) string {
	for _, s := range all.List {
		if where, bring := s.Found(); s.Name() == name && where == "" {
			return fmt.Sprintf("%s is missing: %s", name, bring)
		}
	}
	return ""
}
