package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// places are where a user says that lock services are.
type places struct {
	endpoints []string           // of the one that is used
	where     map[string]*string // by service; "": nobody says
}

func (p *places) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&p.endpoints, "endpoints", nil, "addresses of a lock service that is there already; runs that need one of their own are skipped")
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

// used are the services of scenarios.
func (f found) used(list []*scenario.Scenario) (used []*service.Service) {
	for _, known := range f.services {
		if slices.ContainsFunc(list, func(s *scenario.Scenario) bool { return s.Variants[0].World.Service == known.Name }) {
			used = append(used, known)
		}
	}
	return used
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

// place says of each job where its service is, or why it is not made.
func (f found) place(jobs []*job) {
	for _, j := range jobs {
		j.options.Endpoints = f.endpoints[j.variant.World.Service]
		j.skipped = f.skips(j.variant)
	}
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
