// Package world has a model of a scenario's variant, and writes the stories of the model as files.
package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// World is a variant's world as the model has it.
type World struct {
	tale.World

	scenario *scenario.Scenario
	variant  *scenario.Variant
}

// Of has the model tell of a variant: of its world and its clients, and of its plan only which keys, locks and faults
// there are. The error says what the model lacks.
func Of(services []*service.Service, s *scenario.Scenario, v *scenario.Variant) (*World, error) {
	w := &World{scenario: s, variant: v}
	w.Names = model.Names{Service: v.World.Service, Clients: s.Clients, Keys: v.Keys()}
	w.Run = history.Run{
		Scenario: s.Name, Title: w.title(), Variant: v.Name, About: v.About, Together: s.Together, Tokens: make(map[string]string),
	}
	if err := w.settle(service.Named(services, v.World.Service)); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", s.Name, v.Name, err)
	}
	return w, nil
}

// settle makes the settings of the model.
func (w *World) settle(of *service.Service) error {
	v, together := w.variant, slices.Concat(w.scenario.Together...)
	locks, storage := v.Locks(), v.World.Storage
	for _, key := range together {
		if !slices.Contains(w.Names.Keys, key) {
			w.Names.Keys = append(w.Names.Keys, key)
		}
	}
	if len(w.Names.Keys) == 0 {
		w.Names.Keys = []string{"key0"}
	}
	switch {
	case of.Model == nil:
		return fmt.Errorf("the model does not know %s", of.Name)
	case len(w.Names.Clients) > model.MaxClients:
		return fmt.Errorf("the model has at most %d clients", model.MaxClients)
	case len(locks) > 1:
		return fmt.Errorf("the model has one lock, and here are %s", strings.Join(locks, " and "))
	case storage.Command != "":
		return fmt.Errorf("the model does not know the storage %q", storage.Command)
	case v.World.Pauses > 0:
		return errors.New("who counts is stopped now and then, and never in the model")
	case len(w.scenario.Together) > 1:
		return errors.New("the model has one set of keys that belong together")
	case len(w.Names.Keys) > model.MaxKeys:
		return fmt.Errorf("the model has at most %d keys", model.MaxKeys)
	}
	w.Lock = locks[0]
	w.Settings = model.Settings{
		Keys: len(w.Names.Keys), Fence: storage.Fencing, Memory: storage.Engine == scenario.EngineMemory, Bound: storage.Bound == scenario.BoundIssuer,
	}
	if storage.In == scenario.InService { // it checks no tokens, and loses nothing
		w.Settings.Fence, w.Settings.Memory, w.Settings.Bound = model.FenceOff, false, false
	}
	for _, key := range together {
		w.Settings.Together |= 1 << slices.Index(w.Names.Keys, key)
	}
	w.Names.Changed = w.Settings.Changed()
	for i := range w.Names.Clients {
		c, err := w.client(of, i)
		if err != nil {
			return err
		}
		w.Settings.Clients = append(w.Settings.Clients, c)
	}
	for i, c := range w.Settings.Clients {
		if c.Session != i { // the lock of a session that several use is one key
			w.Settings.Clients[c.Session].Releases = model.ReleasesSession
		}
	}
	if w.Settings.Queue { // which is lost with a node, too
		w.Settings.Nodes = 0
	}
	w.failsOver()
	if of.NodesOf != nil && (w.Settings.Nodes > 1 || w.Names.Says != nil) {
		w.Run.Nodes = of.NodesOf(v.World.Settings)
	}
	for _, step := range v.Steps {
		steps, err := w.steps(step)
		if err != nil {
			return err
		}
		for _, s := range steps {
			w.Settings.Changes = w.Settings.Changes || s.Verb == model.Change || s.Verb == model.BeginChange
			w.Settings.Writes = w.Settings.Writes || s.Verb == model.Write || s.Verb == model.BeginWrite
			w.Settings.Faults |= s.Verb.Fault()
		}
	}
	return nil
}

var (
	// shows are the tokens of clients by what they show, in the words of histories.
	shows = map[string]model.Token{
		history.ShowsGrant: model.TokenGrant, history.ShowsLater: model.TokenApart, history.ShowsAny: model.TokenAgain,
		history.ShowsMax: model.TokenMax, history.ShowsNone: model.TokenNone,
	}
	// looks are those of all services. By any other one a client asks its lock service.
	looks = map[string]model.Look{
		setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
	}
)

// client is a client in the model.
func (w *World) client(of *service.Service, i int) (c model.Client, err error) {
	name := w.Names.Clients[i]
	chose := w.variant.Clients[name]
	switch {
	case chose.Command.Words != nil:
		return c, fmt.Errorf("%s is a program of its own", name)
	case chose.Time(setting.Delay) > 0:
		return c, fmt.Errorf("%s waits after its grant, and the model has no time", name)
	}
	w.Run.Tokens[name] = of.Shows(chose.Values)
	c = model.Client{
		Token: shows[w.Run.Tokens[name]], Look: model.LookService, Session: i,
		ByKey: chose.Text(setting.Scope) == setting.ScopeKey, Plain: chose.Text(setting.Reads) == setting.ReadsPlain,
		Numbered: chose.Flag(setting.Numbered), Singly: chose.Text(setting.Change) == setting.ChangeSingly,
		Reads: true, Deletes: w.Settings.Together == 0, Retries: true,
	}
	if look, is := looks[chose.Text(setting.Look)]; is {
		c.Look = look
	}
	if owner := w.variant.SessionOf(name); owner != "" {
		c.Session = slices.Index(w.Names.Clients, owner)
	}
	if lacks := of.Model(w.variant, name, &w.Settings, &c); lacks != "" {
		return c, fmt.Errorf("%s %s", name, lacks)
	}
	return c, nil
}

var (
	// alike are steps that differ by time alone from those of the model.
	alike = map[string]model.Verb{"gcsim: gc CLIENT": model.PauseClient, "gcsim: await CLIENT": model.ResumeClient}
	// apart are what happens to clients that talk to one member alone. The others find another member.
	apart = map[string]struct {
		member string // as service.SettingMember has it
		verb   model.Verb
	}{
		"gcsim: pause leader": {service.MemberLeader, model.CutClient}, "gcsim: kill leader": {service.MemberLeader, model.CutClient},
		"gcsim: resume leader":    {service.MemberLeader, model.HealClient},
		"gcsim: isolate observer": {service.MemberObserver, model.CutClient},
		"gcsim: isolate primary":  {service.MemberPrimary, model.CutClient},
	}
)

// Steps of a world in which a replica takes the place of its server.
const (
	isolates = "gcsim: isolate NODE" // the replica hears no more of the server
	kills    = "gcsim: kill NODE"
	promotes = "gcsim: promote NODE"
	restarts = "gcsim: restart NODE" // as the replica of the one that was promoted
)

// failsOver has the words of a failover. In the model the lock service goes back to what it was when its replica was isolated.
func (w *World) failsOver() {
	texts := make(map[string]string)
	for _, step := range w.variant.Steps {
		texts[step.ID] = step.String()
	}
	if texts[promotes] != "" {
		w.Settings.Once, w.Settings.Nodes = true, 0
		w.Names.Says = map[model.Verb]string{model.SaveService: texts[isolates], model.RestoreService: texts[kills] + "\n" + texts[promotes]}
	}
}

// steps are what a step of a scenario is in the model.
func (w *World) steps(step scenario.Step) (steps []model.Step, err error) {
	id := strings.ReplaceAll(step.ID, w.Names.Service, scenario.TheService)
	s := model.Step{Verb: model.VerbOf(id), Client: uint8(max(0, slices.Index(w.Names.Clients, step.Client))), Key: uint8(max(0, slices.Index(w.Names.Keys, step.Key)))}
	switch {
	case step.Verb == scenario.Count:
		return w.counts(step.Times, s.Key), nil
	case step.Verb == scenario.Load, w.Names.Says != nil && (id == kills || id == restarts):
		return nil, nil
	case w.Names.Says != nil && id == isolates:
		s.Verb = model.SaveService
	case w.Names.Says != nil && id == promotes:
		if w.Names.Says[model.SaveService] == "" && !w.Settings.Unsent {
			return nil, nil // the replica has heard of all
		}
		s.Verb = model.RestoreService
	case apart[id].verb != 0:
		for i, name := range w.Names.Clients {
			if w.variant.Clients[name].Text(service.SettingMember) == apart[id].member {
				steps = append(steps, model.Step{Verb: apart[id].verb, Client: uint8(i)})
			}
		}
		return steps, nil
	case s.Verb == model.Lock && step.For > 0:
		s.Verb = model.LockWithin
	case s.Verb.OfNode() && w.ofNode(&s, step), s.Verb != 0 && !s.Verb.OfNode() && step.For == 0:
	case alike[id] != 0:
		s.Verb = alike[id]
	default:
		return nil, fmt.Errorf("the model has no step %q", step.Text)
	}
	return []model.Step{s}, nil
}

// ofNode has a step be about the node of a scenario's step; false: the model does not have that. A jump ends each lease.
func (w *World) ofNode(s *model.Step, step scenario.Step) bool {
	for w.Names.Node(s.Node) != step.Node {
		if s.Node++; s.Node == model.MaxNodes {
			return false
		}
	}
	for _, client := range w.variant.Clients {
		if s.Verb == model.JumpClock && client.Time(setting.TTL) >= step.For {
			return false
		}
	}
	return w.Settings.HasNode(*s)
}

// Plan is the variant's story, each step by its text in the model.
func (w *World) Plan() ([]string, error) {
	var path []model.Step
	for _, step := range w.variant.Steps {
		steps, err := w.steps(step)
		if err != nil {
			return nil, err
		}
		path = append(path, steps...)
	}
	return w.Texts(path), nil
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
