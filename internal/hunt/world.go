// Package hunt tells random stories to real processes, judges each, and makes the smallest story of what it finds. It
// knows which steps there are, and nothing of any pitfall.
package hunt

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/world"
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
	Promises Promises    // what is ruled out is a finding

	language *scenario.Language
	service  *service.Service
	keys     []string
	faults   map[string]bool // the first words of the plan's steps
	plan     []scenario.Step // its faults of the lock service
	locks    bool            // clients take locks, and do nothing else
	model    *world.World    // nil: each step is drawn when the one before is over
	modelled *modelled       // the story of the model that is told here; nil: there is none
}

// Promises are what a lock promises.
type Promises struct {
	Exclusive bool // a lock that is held is granted to no other client
	Frees     bool // a lock is free when the lease of its dead holder is over, and when a waiter gives up
	Leased    bool // likewise where the holder lives and stands still
	Ordered   bool // a later holder has a higher token
	Pause     bool // a holder that was stopped does no harm when it goes on
	Servers   bool // all this holds whatever is done to the lock service
	UntilTold bool // a client has its lock until it lets go, or is told of the loss
}

// Usual is what a lock promises by whose token the storage is protected.
var Usual = Promises{Exclusive: true, Frees: true, Leased: true, Ordered: true, Pause: true, Servers: true}

// promises are what holds after these steps.
func (w *World) promises(steps []scenario.Step) Promises {
	ofServers := func(s scenario.Step) bool {
		return slices.ContainsFunc(w.service.Faults, func(f *service.Fault) bool { return f.ID() == s.ID })
	}
	if !w.Promises.Servers && slices.ContainsFunc(steps, ofServers) {
		return Promises{}
	}
	return w.Promises
}

// NewWorld is the world of a variant. Leases that are renewed as long as their clients run are short there.
func NewWorld(l *scenario.Language, name string, s *scenario.Scenario, v *scenario.Variant, o lab.Options) *World {
	w := &World{Name: name, Scenario: s, Options: o, language: l, Promises: Usual, service: service.Named(o.Services, v.World.Service), faults: make(map[string]bool)}
	told := *v
	told.Expect, told.Control, told.Clients = history.Expect{Verdict: history.Safe}, false, maps.Clone(v.Clients)
	for client, c := range told.Clients {
		c.Values = maps.Clone(c.Values)
		if w.service.Renews && c.Command.Words == nil {
			c.Values[setting.TTL] = "1s"
		}
		told.Clients[client] = c
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

// library reports whether a client takes its locks by a library in a process of its own: most of these do not say that they
// wait, and take a lock in one piece.
func (w *World) library(client string) bool { return w.service.Halved(w.Variant.Clients[client]) }
