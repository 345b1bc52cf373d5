package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

func servicesCommand() *cobra.Command {
	cmd := cli.Command("services", "List the lock services, and what those need that are missing", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		in := make(map[*original.Language]int)
		for _, s := range all.Named {
			own, err := ofService(s.Name)
			if err != nil {
				return err
			}
			for _, its := range own {
				for language := range languages(s, its) {
					in[language]++
				}
			}
			fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", s.Name, len(own), whereIs(s))
		}
		for _, l := range original.Languages {
			fmt.Fprintf(w, "%s\t%d scenarios\t%s\n", l.Name, in[l], whereIs(asPart(l)))
		}
		return w.Flush()
	})
	cmd.AddCommand(getCommand(parts()))
	return cmd
}

// languages are those in which a story of a service has clients.
func languages(s *service.Service, its *scenario.Scenario) map[*original.Language]bool {
	has := make(map[*original.Language]bool)
	for _, v := range its.Variants {
		for _, peer := range service.PeersOf(s, &v) {
			language, _ := original.Of(peer)
			has[language] = true
		}
	}
	return has
}

// asPart is the clients in a language, which are found and fetched as a service is.
func asPart(l *original.Language) *service.Service {
	return &service.Service{Service: scenario.Service{Name: l.Name}, Found: l.Found, Whole: l.Whole, Get: l.Get, Apart: l.Apart}
}

// parts are what scenarios need: the lock services, and the clients in other languages.
func parts() []*service.Service {
	parts := slices.Clone(all.List)
	for _, l := range original.Languages {
		parts = append(parts, asPart(l))
	}
	return parts
}

func whereIs(p *service.Service) string {
	where, bring := foundWhole(p)
	if where == "" {
		return "missing: " + bring
	}
	return where
}

// foundWhole is Found, and "" where what it finds is not whole.
func foundWhole(p *service.Service) (where, bring string) {
	if where, bring = p.Found(); where == "" || p.Whole == nil {
		return where, bring
	}
	if err := p.Whole(); err != nil {
		return "", fmt.Sprintf("gcsim services get %s (%v)", p.Name, err)
	}
	return where, ""
}

// allServices names all that can be fetched, but for what stands apart.
const allServices = "all"

func getCommand(parts []*service.Service) *cobra.Command {
	return cli.Command("get SERVICE... | java | python | node | go | rust | "+allServices, "Fetch what lock services need, or the clients in another language", cli.Args(1, cli.Any), func(cmd *cobra.Command, names []string) error {
		wanted, err := toGet(parts, names)
		if err != nil {
			return cannot(err)
		}
		var errs []error
		for _, s := range wanted {
			errs = append(errs, get(cmd, s))
		}
		return errors.Join(errs...)
	})
}

func toGet(parts []*service.Service, names []string) (wanted []*service.Service, err error) {
	var known []string
	for _, p := range parts {
		if slices.Contains(names, p.Name) || p.Get != nil && slices.Contains(names, allServices) && !p.Apart {
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
	where, bring := foundWhole(p)
	if where == "" {
		return fmt.Errorf("%s is missing: %s", p.Name, bring)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Name, where)
	return nil
}

// places are where a user says that lock services are.
type places struct {
	endpoints []string           // of the one that is used
	where     map[string]*string // by service; "": nobody says
}

func (p *places) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&p.endpoints, "endpoints", nil, "addresses of a lock service that is there already; runs that need one of their own are left out")
	p.whereFlags(f)
}

// whereFlags are those that say of each service where it is.
func (p *places) whereFlags(f *pflag.FlagSet) {
	p.where = make(map[string]*string)
	for _, s := range all.List {
		p.where[s.Name] = f.String(s.Name, "", fmt.Sprintf("where %s is: %s (default: what \"gcsim services\" says)", s.Name, s.Where))
	}
}

// found are the lock services, where they are.
type found struct {
	services  []*service.Service
	endpoints map[string][]string // of those that are there already
}

// find is where the lock services of scenarios are.
func (p places) find(list []*scenario.Scenario) (found, error) {
	f := found{endpoints: make(map[string][]string)}
	for _, s := range all.Named {
		if where := p.where[s.Name]; where != nil && *where != "" {
			at, endpoints, err := s.At(*where)
			if err != nil {
				return f, fmt.Errorf("--%s %s: %w", s.Name, *where, err)
			}
			s, f.endpoints[s.Name] = at, endpoints
		}
		f.services = append(f.services, s)
	}
	if len(p.endpoints) == 0 {
		return f, nil
	}
	used := f.used(list)
	if len(used) > 1 {
		return f, fmt.Errorf("--endpoints are those of one lock service, and the scenarios use %s: run those of one, as by \"gcsim run %s\"",
			strings.Join(service.Names(used), " and "), used[0].Name)
	}
	f.endpoints[used[0].Name] = p.endpoints
	return f, nil
}

func (f found) used(list []*scenario.Scenario) []*service.Service {
	return slices.DeleteFunc(slices.Clone(f.services), func(known *service.Service) bool {
		return !slices.ContainsFunc(list, func(s *scenario.Scenario) bool { return s.Variants[0].World.Service == known.Name })
	})
}

// reach returns when the services that are there already have answered.
func (f found) reach(ctx context.Context) error {
	for _, s := range f.services {
		if endpoints := f.endpoints[s.Name]; len(endpoints) > 0 {
			if err := s.Reach(ctx, endpoints); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing are why scenarios cannot be run, each reason once.
func (f found) missing(list []*scenario.Scenario) (why []string) {
	for _, s := range f.used(list) {
		if m := f.lacks(s); m != "" {
			why = append(why, m)
		}
	}
	return why
}

// lacks is why a service's scenarios cannot be run; "" where they can.
func (f found) lacks(s *service.Service) string {
	where, bring := s.Found()
	if where != "" || len(f.endpoints[s.Name]) > 0 {
		return ""
	}
	return fmt.Sprintf("%s is missing: %s", s.Name, bring)
}

// skips is why a variant is not run; "" where it is.
func (f found) skips(v *scenario.Variant) string {
	name := v.World.Service
	s := service.Named(f.services, name)
	if lacks := lab.Lacks(s, v); lacks != "" {
		return lacks
	}
	if len(f.endpoints[name]) > 0 {
		return v.Own
	}
	if s.Lacks != nil && f.lacks(s) == "" {
		return s.Lacks(v)
	}
	return f.lacks(s)
}
