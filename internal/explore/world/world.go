// Package world has a model of a scenario's variant, and tells the stories of the model in the language of scenarios, as
// histories, and as files.
package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// World is a variant's world as the model has it.
type World struct {
	Settings model.Settings
	Names    model.Names
	Lock     string

	scenario *scenario.Scenario
	variant  *scenario.Variant
	tokens   map[string]string // what each client shows, in the words of histories
}

// Of has the model tell of a variant: of its world and its clients, and of its plan only which keys, locks and faults
// there are. The error says what the model lacks.
func Of(services []*service.Service, s *scenario.Scenario, v *scenario.Variant) (*World, error) {
	lack := func(format string, args ...any) (*World, error) {
		return nil, fmt.Errorf("%s/%s: "+format, append([]any{s.Name, v.Name}, args...)...)
	}
	of := service.Named(services, v.World.Service)
	storage := v.World.Storage
	switch locks := v.Locks(); {
	case of.Model == nil:
		return lack("the model does not know %s", v.World.Service)
	case len(s.Clients) > model.MaxClients:
		return lack("the model has at most %d clients", model.MaxClients)
	case len(locks) > 1:
		return lack("the model has one lock, and here are %s", strings.Join(locks, " and "))
	case storage.Command != "":
		return lack("the model does not know the storage %q", storage.Command)
	case v.World.Pauses > 0:
		return lack("who counts is stopped now and then, and never in the model")
	case len(s.Together) > 1:
		return lack("the model has one set of keys that belong together")
	}
	w := &World{Names: model.Names{Service: v.World.Service, Clients: s.Clients, Keys: v.Keys()}, Lock: v.Locks()[0], scenario: s, variant: v, tokens: make(map[string]string)}
	together := slices.Concat(s.Together...)
	for _, key := range together {
		if !slices.Contains(w.Names.Keys, key) {
			w.Names.Keys = append(w.Names.Keys, key)
		}
	}
	if len(w.Names.Keys) == 0 {
		w.Names.Keys = []string{"key0"}
	}
	if len(w.Names.Keys) > model.MaxKeys {
		return lack("the model has at most %d keys", model.MaxKeys)
	}
	w.Settings.Keys = len(w.Names.Keys)
	if storage.In == scenario.InService { // it checks no tokens, and loses nothing
		storage.Fencing, storage.Engine, storage.Bound = model.FenceOff, "", ""
	}
	w.Settings.Fence, w.Settings.Memory, w.Settings.Bound = storage.Fencing, storage.Engine == scenario.EngineMemory, storage.Bound == scenario.BoundIssuer
	for _, key := range together {
		w.Settings.Together |= 1 << slices.Index(w.Names.Keys, key)
	}
	w.Names.Changed = w.Settings.Changed()
	for i, name := range s.Clients {
		c := v.Clients[name]
		if c.Command.Words != nil {
			return lack("%s is a program of its own", name)
		}
		w.Settings.Clients = append(w.Settings.Clients, model.Client{
			Session: i, ByKey: c.Text(setting.Scope) == setting.ScopeKey, Plain: c.Text(setting.Reads) == setting.ReadsPlain,
			Numbered: c.Flag(setting.Numbered), Singly: c.Text(setting.Change) == setting.ChangeSingly,
			Reads: true, Deletes: len(together) == 0, Begins: true, Retries: true,
		})
		w.tokens[name] = of.Shows(c.Values)
		if c.Time(setting.Delay) > 0 {
			return lack("%s waits after its grant, and the model has no time", name)
		}
	}
	if err := of.Model(v, s.Clients, &w.Settings); err != nil {
		return lack("%w", err)
	}
	for _, step := range v.Steps {
		steps, err := w.steps(step)
		if err != nil {
			return lack("%w", err)
		}
		for _, s := range steps {
			w.Settings.Changes = w.Settings.Changes || s.Verb == model.Change || s.Verb == model.BeginChange
			w.Settings.Faults |= s.Verb.Fault()
		}
	}
	return w, nil
}

// Verdict is the verdict on a story that does harm; Safe where it does none.
func Verdict(h model.Harm) string {
	switch {
	case h.Corrupts():
		return history.Corrupted
	case h != model.None:
		return history.Blocked
	}
	return history.Safe
}

// steps are what a step of a scenario is in the model.
func (w *World) steps(step scenario.Step) ([]model.Step, error) {
	id := strings.ReplaceAll(step.ID, w.Names.Service, "SERVICE")
	s := model.Step{Verb: model.VerbOf(id), Client: uint8(max(0, slices.Index(w.Names.Clients, step.Client))), Key: uint8(max(0, slices.Index(w.Names.Keys, step.Key)))}
	switch {
	case s.Verb == model.Lock && step.For > 0:
		s.Verb = model.LockWithin
		return []model.Step{s}, nil
	case s.Verb != 0 && step.For == 0:
		return []model.Step{s}, nil
	case step.Verb == scenario.Count:
		return w.counts(step.Times, s.Key), nil
	}
	switch id {
	case "gcsim: gc CLIENT":
		s.Verb = model.PauseClient
	case "gcsim: await CLIENT":
		s.Verb = model.ResumeClient
	case "gcsim: load CLIENT", "gcsim: count requests":
		return nil, nil
	case "gcsim: pause leader", "gcsim: kill leader":
		return w.ofLeader(model.CutClient), nil
	case "gcsim: resume leader":
		return w.ofLeader(model.HealClient), nil
	default:
		return nil, fmt.Errorf("the model has no step %q", step.Text)
	}
	return []model.Step{s}, nil
}

// counts are the steps of clients that count one after the other.
func (w *World) counts(times int, key uint8) (steps []model.Step) {
	for i := range w.Names.Clients {
		for range times {
			for _, verb := range []model.Verb{model.Lock, model.Read, model.Write, model.Unlock} {
				steps = append(steps, model.Step{Verb: verb, Client: uint8(i), Key: key})
			}
		}
	}
	return steps
}

// ofLeader is a step of each client that talks to the leader alone. The others find another member.
func (w *World) ofLeader(verb model.Verb) (steps []model.Step) {
	for i, name := range w.Names.Clients {
		if w.variant.Clients[name].Text(service.SettingMember) == service.MemberLeader {
			steps = append(steps, model.Step{Verb: verb, Client: uint8(i)})
		}
	}
	return steps
}

// Follow takes a story's steps one by one, and is what comes of them in the model: of all the harm that they do, and of all
// refusals. The error names the step that cannot come, or that the model lacks.
func (w *World) Follow(steps []scenario.Step) (model.Move, error) {
	all := model.Move{State: w.Settings.Start()}
	for n, step := range steps {
		list, err := w.steps(step)
		if err != nil {
			return all, err
		}
		for _, s := range list {
			m, ok := all.State.Take(&w.Settings, s)
			if !ok {
				return all, fmt.Errorf("the model's story cannot go on by %q", step)
			}
			all.State, all.Stale, all.Refused = m.State, all.Stale+m.Stale, all.Refused+m.Refused
			if m.Ends && n < len(steps)-1 {
				continue
			}
			if all.Harm == model.None || m.Harm.Corrupts() && !all.Harm.Corrupts() {
				all.Harm = m.Harm
			}
		}
	}
	return all, nil
}
