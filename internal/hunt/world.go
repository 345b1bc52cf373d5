// Package hunt tells random stories to real processes, judges each, and makes the smallest story of what it finds. It
// knows which steps there are, and nothing of any pitfall.
package hunt

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// World is where stories are told: a variant's world and clients. Its steps are forgotten, but for the faults of which
// they speak, and the keys and locks.
type World struct {
	Name     string
	Scenario *scenario.Scenario
	Variant  *scenario.Variant
	Options  lab.Options // of each run; Next, Look and Seed are the hunt's
	// Unsafe says that nothing is promised of a holder whose lease is over: that its work does harm is no finding.
	Unsafe bool

	language *scenario.Language
	service  *service.Service
	keys     []string
	faults   map[string]bool // the first words of the plan's steps
	plan     []scenario.Step // its faults of the lock service
}

// NewWorld is the world of a variant. Leases that are renewed as long as their clients run are short there.
func NewWorld(l *scenario.Language, name string, s *scenario.Scenario, v *scenario.Variant, o lab.Options) *World {
	w := &World{Name: name, Scenario: s, Options: o, language: l, service: service.Named(o.Services, v.World.Service), faults: make(map[string]bool)}
	told := *v
	told.Expect, told.Control, told.Clients = history.Expect{Verdict: history.Safe}, false, maps.Clone(v.Clients)
	for client, c := range told.Clients {
		if w.service.Renews && c.Command.Words == nil {
			c.Values = maps.Clone(c.Values)
			c.Values[setting.TTL] = "1s"
			told.Clients[client] = c
		}
	}
	w.Variant = &told
	if w.keys = slices.Concat(slices.Concat(s.Together...), v.Keys()); len(w.keys) == 0 {
		w.keys = []string{"key0"}
	}
	slices.Sort(w.keys)
	w.keys = slices.Compact(w.keys)
	for _, step := range v.Steps {
		w.faults[string(step.Verb)+" "+step.Form.Target] = true
		w.faults[string(step.Verb)] = true
		ofService := slices.ContainsFunc(w.service.Faults, func(f *service.Fault) bool { return f.ID() == step.ID })
		if known := slices.ContainsFunc(w.plan, func(s scenario.Step) bool { return s.String() == step.String() }); ofService && !known {
			w.plan = append(w.plan, step)
		}
	}
	return w
}

// Checks reports whether every request shows the token of a grant to a storage that compares it.
func (w *World) Checks() bool {
	s := w.Variant.World.Storage
	if s.In == scenario.InService || s.Fencing != scenario.FencingOn && w.Options.UsersStorage == nil {
		return false
	}
	for _, c := range w.Variant.Clients {
		if w.service.Shows(c.Values) != history.ShowsGrant {
			return false
		}
	}
	return true
}

// hitsStorage reports whether the storage may be hit by a fault: by one that the plan has, or by any if it keeps its data.
func (w *World) hitsStorage(fault string) bool {
	s := w.Variant.World.Storage
	return w.faults[fault+" "+scenario.TargetStorage] || s.In == scenario.InProcess && (s.Engine == scenario.EngineBolt || s.Command != "")
}
