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
	case storage.In == scenario.InService:
		return lack("the data lies in %s, and the model's lies in a storage", v.World.Service)
	case storage.Command != "":
		return lack("the model does not know the storage %q", storage.Command)
	case v.World.Pauses > 0:
		return lack("the model does not count")
	}
	w := &World{Names: model.Names{Service: v.World.Service, Clients: s.Clients, Keys: v.Keys()}, Lock: v.Locks()[0], scenario: s, variant: v, tokens: make(map[string]string)}
	if len(w.Names.Keys) == 0 {
		w.Names.Keys = []string{"key0"}
	}
	if len(w.Names.Keys) > model.MaxKeys {
		return lack("the model has at most %d keys", model.MaxKeys)
	}
	w.Settings.Keys = len(w.Names.Keys)
	w.Settings.Fence, w.Settings.Memory, w.Settings.Bound = storage.Fencing, storage.Engine == scenario.EngineMemory, storage.Bound == scenario.BoundIssuer
	w.Settings.Together = len(s.Together) > 0
	for i, name := range s.Clients {
		c := v.Clients[name]
		if c.Command.Words != nil {
			return lack("%s is a program of its own", name)
		}
		w.Settings.Clients = append(w.Settings.Clients, model.Client{
			Session: i, ByKey: c.Text(setting.Scope) == setting.ScopeKey, Plain: c.Text(setting.Reads) == setting.ReadsPlain,
			Numbered: c.Flag(setting.Numbered), Singly: c.Text(setting.Change) == setting.ChangeSingly,
			Reads: true, Deletes: len(s.Together) == 0, Begins: true, Retries: true,
		})
		w.tokens[name] = of.Shows(c.Values)
		if c.Time(setting.Delay) > 0 {
			return lack("%s waits after its grant, and the model has no time", name)
		}
	}
	if err := of.Model(v, s.Clients, &w.Settings); err != nil {
		return lack("%w", err)
	}
	for _, step := range w.counted(v.Steps) {
		verb, err := w.verb(step)
		if err != nil {
			return lack("%w", err)
		}
		w.Settings.Changes = w.Settings.Changes || verb == model.Change || verb == model.BeginChange
		w.Settings.Faults |= verb.Fault()
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

// counted are steps in which clients count one after the other, and each count is as many steps as it takes.
func (w *World) counted(steps []scenario.Step) (list []scenario.Step) {
	for _, step := range steps {
		if step.Verb != scenario.Count {
			list = append(list, step)
			continue
		}
		for _, name := range w.Names.Clients {
			for range step.Times {
				for _, id := range []string{"client: lock", "client: read KEY", "client: write KEY=VALUE", "client: unlock"} {
					list = append(list, scenario.Step{ID: id, Client: name, Key: step.Key, Text: step.Text})
				}
			}
		}
	}
	return list
}

// verb is what a step of a scenario is in the model.
func (w *World) verb(step scenario.Step) (model.Verb, error) {
	verb := model.VerbOf(strings.ReplaceAll(step.ID, w.Names.Service, "SERVICE"))
	switch {
	case verb == model.Lock && step.For > 0:
		return model.LockWithin, nil
	case verb != 0 && step.For == 0:
		return verb, nil
	}
	return 0, fmt.Errorf("the model has no step %q", step.Text)
}

// Follow takes a story's steps one by one, and is what comes of them in the model: of all the harm that they do, and of all
// refusals. The error names the step that cannot come, or that the model lacks.
func (w *World) Follow(steps []scenario.Step) (model.Move, error) {
	all := model.Move{State: w.Settings.Start()}
	for _, step := range w.counted(steps) {
		verb, err := w.verb(step)
		if err != nil {
			return all, err
		}
		key := step.Key
		s := model.Step{Verb: verb, Client: uint8(max(0, slices.Index(w.Names.Clients, step.Client))), Key: uint8(max(0, slices.Index(w.Names.Keys, key)))}
		m, ok := all.State.Take(&w.Settings, s)
		if !ok {
			return all, fmt.Errorf("the model's story cannot go on by %q", step)
		}
		all.State, all.Stale, all.Refused = m.State, all.Stale+m.Stale, all.Refused+m.Refused
		if all.Harm == model.None || m.Harm.Corrupts() && !all.Harm.Corrupts() {
			all.Harm = m.Harm
		}
	}
	return all, nil
}
