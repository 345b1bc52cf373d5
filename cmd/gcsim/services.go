package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

func servicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "List the lock services, and what those need that are missing",
		Long: `services lists the lock services that scenarios can use: where each is found, or,
of one that is missing, the command that brings it. Scenarios of a service that
is missing are skipped; with "gcsim run --require all" that is an error.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range all.Named {
				own, err := ofService(s.Name())
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", s.Name(), len(own), whereIs(s))
			}
			return w.Flush()
		},
	}
	cmd.AddCommand(getCommand(all.List))
	return cmd
}

// whereIs says where a service is found, or what brings it.
func whereIs(s service.Service) string {
	where, bring := s.Found()
	if where == "" {
		return "missing: " + bring
	}
	return where
}

// allServices names all that can be fetched.
const allServices = "all"

func getCommand(services []service.Service) *cobra.Command {
	return &cobra.Command{
		Use:   "get SERVICE... | " + allServices,
		Short: "Fetch what lock services need",
		Long: `get fetches what a lock service needs into the user's cache: ~/.cache/fencelab, or
fencelab in the directory that XDG_CACHE_HOME names. What is there is not fetched
again. "all" means all services that have something to be fetched.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			wanted, err := toGet(services, names)
			if err != nil {
				return err
			}
			var errs []error
			for _, s := range wanted {
				errs = append(errs, get(cmd, s))
			}
			return errors.Join(errs...)
		},
	}
}

// toGet are the services that a user names.
func toGet(services []service.Service, names []string) (wanted []service.Service, err error) {
	for _, s := range services {
		_, can := s.(service.Getter)
		if slices.Contains(names, s.Name()) || can && slices.Contains(names, allServices) {
			wanted = append(wanted, s)
		}
	}
	known := append(service.Names(services), allServices)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no lock service %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	return wanted, nil
}

// get has a service fetch what it needs, and says where the service is then found.
func get(cmd *cobra.Command, s service.Service) error {
	if getter, can := s.(service.Getter); can {
		if err := getter.Get(cmd.Context(), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if where, _ := s.Found(); where == "" {
		return fmt.Errorf("%s is %s", s.Name(), whereIs(s))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", s.Name(), whereIs(s))
	return nil
}
