package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/peers"
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
				own, err := ofService(s.Name())
				if err != nil {
					return err
				}
				for _, its := range own {
					if slices.ContainsFunc(its.Variants, func(v scenario.Variant) bool { return service.InJava(s, &v) }) {
						inJava++
					}
				}
				fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", s.Name(), len(own), whereIs(s))
			}
			fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", peers.Name, inJava, whereIs(javaPeers{}))
			return w.Flush()
		},
	}
	cmd.AddCommand(getCommand(parts()))
	return cmd
}

// part is what scenarios need: a lock service, or the clients in Java.
type part interface {
	Name() string
	Found() (where, bring string)
}

// parts are all of them.
func parts() (list []part) {
	for _, s := range all.List {
		list = append(list, s)
	}
	return append(list, javaPeers{})
}

// javaPeers are the clients in Java.
type javaPeers struct{}

func (javaPeers) Name() string { return peers.Name }

func (javaPeers) Found() (where, bring string) { return peers.Found() }

// Get implements service.Getter.
func (javaPeers) Get(ctx context.Context, progress io.Writer) error { return peers.Get(ctx, progress) }

// whereIs says where a part is found, or what brings it.
func whereIs(p part) string {
	where, bring := p.Found()
	if where == "" {
		return "missing: " + bring
	}
	return where
}

// allServices names all that can be fetched.
const allServices = "all"

func getCommand(parts []part) *cobra.Command {
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
func toGet(parts []part, names []string) (wanted []part, err error) {
	var known []string
	for _, p := range parts {
		_, can := p.(service.Getter)
		if slices.Contains(names, p.Name()) || can && slices.Contains(names, allServices) {
			wanted = append(wanted, p)
		}
		known = append(known, p.Name())
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
func get(cmd *cobra.Command, p part) error {
	if getter, can := p.(service.Getter); can {
		if err := getter.Get(cmd.Context(), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if where, _ := p.Found(); where == "" {
		return fmt.Errorf("%s is %s", p.Name(), whereIs(p))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Name(), whereIs(p))
	return nil
}
