package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
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
			inJava := 0
			for _, s := range all.Named {
				own, err := ofService(s.Name)
				if err != nil {
					return err
				}
				for _, its := range own {
					if slices.ContainsFunc(its.Variants, func(v scenario.Variant) bool { return service.InJava(s, &v) }) {
						inJava++
					}
				}
				fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", s.Name, len(own), whereIs(s))
			}
			fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", java.Name, inJava, whereIs(javaPeers))
			return w.Flush()
		},
	}
	cmd.AddCommand(getCommand(parts()))
	return cmd
}

// javaPeers are the clients in Java, which are found and fetched as a service is.
var javaPeers = &service.Service{Service: scenario.Service{Name: java.Name}, Found: java.Found, Get: java.Get}

// parts are what scenarios need: the lock services, and the clients in Java.
func parts() []*service.Service { return append(slices.Clone(all.List), javaPeers) }

// whereIs says where a part is found, or what brings it.
func whereIs(p *service.Service) string {
	where, bring := p.Found()
	if where == "" {
		return "missing: " + bring
	}
	return where
}

// allServices names all that can be fetched.
const allServices = "all"

func getCommand(parts []*service.Service) *cobra.Command {
	return &cobra.Command{
		Use:   "get SERVICE... | java | " + allServices,
		Short: "Fetch what lock services need, or the clients in Java",
		Long: `get fetches what a lock service needs into the user's cache: ~/.cache/fencelab, or
fencelab in the directory that XDG_CACHE_HOME names. What is there is not fetched
again. "java" are the clients in Java: get compiles them, and fetches their
libraries. "all" means all that can be fetched.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			wanted, err := toGet(parts, names)
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

// toGet are the parts that a user names.
func toGet(parts []*service.Service, names []string) (wanted []*service.Service, err error) {
	var known []string
	for _, p := range parts {
		if slices.Contains(names, p.Name) || p.Get != nil && slices.Contains(names, allServices) {
			wanted = append(wanted, p)
		}
		known = append(known, p.Name)
	}
	known = append(known, allServices)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	return wanted, nil
}

// get has a part fetch what it needs, and says where it is then found.
func get(cmd *cobra.Command, p *service.Service) error {
	if p.Get != nil {
		if err := p.Get(cmd.Context(), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if where, _ := p.Found(); where == "" {
		return fmt.Errorf("%s is %s", p.Name, whereIs(p))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Name, whereIs(p))
	return nil
}
