package world

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// Random is a story of random steps, at most so many: a scenario of one variant that expects the model's verdict, and the
// model's history.
func (w *World) Random(language *scenario.Language, random *rand.Rand, most int) (*scenario.Scenario, []history.Event, error) {
	var path []model.Step
	var harm model.Harm
	for len(path) == 0 {
		path, harm = w.wander(random, most)
	}
	there := w.leased(path)
	there.Run.Title = fmt.Sprintf("A random story of the model, by the settings of %s/%s", w.scenario.Name, w.variant.Name)
	lines, events := there.Tell(path)
	s, err := there.parsed(language, lines, tale.Verdict(harm))
	return s, events, err
}

// wander goes a path of random steps, up to the first harm, or to where nobody stands in the middle of something.
func (w *World) wander(random *rand.Rand, most int) (path []model.Step, harm model.Harm) {
	state, rests := model.State{}, 0
	for len(path) < most && harm == model.None {
		var steps []model.Step
		var moves []model.Move
		for step, m := range state.Next(&w.Settings) {
			steps, moves = append(steps, step), append(moves, m)
		}
		if len(steps) == 0 {
			break
		}
		n := random.IntN(len(steps))
		path, state, harm = append(path, steps[n]), moves[n].State, moves[n].Harm
		if state.Rests(&w.Settings) || harm != model.None && !state.StorageDead {
			rests = len(path)
		}
	}
	if rests < len(path) {
		harm = model.None
	}
	return path[:rests], harm
}

// leased is the world with short leases of those clients whose leases run out on a path, so that nobody waits for long.
func (w *World) leased(path []model.Step) *World {
	world, variant := *w, *w.variant
	variant.Clients = maps.Clone(variant.Clients)
	for i, name := range w.Names.Clients {
		client := variant.Clients[name]
		client.Values = maps.Clone(client.Values)
		if _, chosen := w.variant.World.Settings[service.SettingSession]; chosen {
			continue // by the servers
		}
		client.Values[setting.TTL] = "30s"
		if slices.Contains(path, model.Step{Verb: model.AwaitExpiry, Client: uint8(i)}) {
			client.Values[setting.TTL] = "1s"
		}
		variant.Clients[name] = client
	}
	world.variant = &variant
	return &world
}

// Answers are what the storage did with the requests, in its order.
func Answers(events []history.Event) (list []string) {
	for _, e := range events {
		if e.Kind == history.KindApplied || e.Kind == history.KindRefused {
			list = append(list, fmt.Sprintf("%s of %s by %s: %s %s", e.Op, e.Key, e.Client, e.Kind, e.Reason))
		}
	}
	return list
}
