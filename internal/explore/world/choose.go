package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// named are the faults by the names by which people choose them.
var named = map[string]model.Faults{
	"pause": model.Pause, "crash": model.Kill, "partition": model.Cut, "deafen": model.Deafen, "delay": model.Delay,
	"revoke": model.Revoke, "restart": model.KillStorage, "restore": model.Restore, "terminate": model.Terminate,
	"node": model.KillNode, "clock": model.Clock, "eviction": model.Evict,
}

// FaultNames are the names of all faults, in order.
func FaultNames() []string { return slices.Sorted(maps.Keys(named)) }

// Allow has the faults of these names come, and no others. idle says, in a sentence for each, which of them this world
// cannot have. The error names one that is none.
func (w *World) Allow(language *scenario.Language, names []string) (idle []string, err error) {
	w.Settings.Faults = 0
	for _, name := range names {
		fault, is := named[name]
		if !is {
			return nil, fmt.Errorf("there is no fault %q%s", name, scenario.Hint(name, FaultNames()))
		}
		if why := w.lacks(language, fault); why != "" {
			idle = append(idle, fmt.Sprintf("The fault %q adds nothing here: %s.", name, why))
			continue
		}
		w.Settings.Faults |= fault
	}
	return idle, nil
}

// lacks says what this world lacks for the steps of a fault; "": nothing.
func (w *World) lacks(language *scenario.Language, fault model.Faults) string {
	telling := language.Tell(w.scenario, w.variant)
	for verb := model.PauseClient; verb <= model.FillNode; verb++ {
		switch {
		case verb.Fault() != fault, verb == model.SaveService && w.Settings.Unsent:
			continue
		case verb.OfNode() && !w.Settings.HasNode(model.Step{Verb: verb}):
			return "the model has no node to which it happens"
		}
		for line := range strings.Lines(w.Names.Text(model.Step{Verb: verb}, 1)) {
			if _, err := telling.Parse(strings.TrimSpace(line)); err != nil {
				return fmt.Sprintf("no story has the step %q", strings.TrimSpace(line))
			}
		}
	}
	path := w.only(fault)
	if len(path) == 0 {
		return ""
	}
	steps, _ := w.Tell(path)
	if _, err := w.parsed(language, steps, history.Safe); err != nil {
		return fmt.Sprintf("no story has the steps %q", steps)
	}
	return ""
}

// only is how a story begins in which nothing but a fault comes: each kind of step once.
func (w *World) only(fault model.Faults) (path []model.Step) {
	settings, state := w.Settings, model.State{}
	settings.Faults = fault
	for verb := model.PauseClient; verb <= model.FillNode; verb++ {
		for step, move := range state.Next(&settings) {
			if step.Verb == verb && verb.Fault() == fault {
				path, state = append(path, step), move.State
				break
			}
		}
	}
	return path
}

// Widen gives a variant so many clients. Those beyond its own are like its last one.
func Widen(s *scenario.Scenario, v *scenario.Variant, clients int) (*scenario.Scenario, *scenario.Variant, error) {
	if clients < len(s.Clients) {
		return nil, nil, fmt.Errorf("%s/%s has %d clients, and none can be left out", s.Name, v.Name, len(s.Clients))
	}
	wide, with := *s, *v
	wide.Clients, with.Clients = slices.Clone(s.Clients), maps.Clone(v.Clients)
	last := v.Clients[s.Clients[len(s.Clients)-1]]
	for n := 1; len(wide.Clients) < clients; n++ {
		name := fmt.Sprintf("client%d", n)
		if _, taken := with.Clients[name]; !taken {
			wide.Clients, with.Clients[name] = append(wide.Clients, name), last
		}
	}
	return &wide, &with, nil
}

// File is a story as the file of a scenario, of which this verdict must come.
func (w *World) File(language *scenario.Language, lines []string, verdict string) ([]byte, error) {
	telling := language.Tell(w.scenario, w.variant)
	var steps []scenario.Step
	for _, line := range lines {
		step, err := telling.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("the story cannot be written as a scenario: %w", err)
		}
		steps = append(steps, step)
	}
	return language.Format(w.titled(w.Run.Title), w.variant, steps, verdict)
}

// parsed is a story as a scenario, of which this verdict must come.
func (w *World) parsed(language *scenario.Language, lines []string, verdict string) (*scenario.Scenario, error) {
	text, err := w.File(language, lines, verdict)
	if err != nil {
		return nil, err
	}
	s, err := language.Parse("the model", w.scenario.Name+"-told", text)
	if err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, text)
	}
	return s, nil
}

// titled is the scenario of another story, without what is said about its own.
func (w *World) titled(title string) *scenario.Scenario {
	s := *w.scenario
	s.Title, s.Lesson, s.Helps, s.Source = title, "", "", ""
	return &s
}

// Fill has the stories of the world be files of this title.
func (w *World) Fill(language *scenario.Language, title string) error {
	text, err := language.Format(w.titled(title), w.variant, w.variant.Steps, "VERDICT")
	if err != nil {
		return err
	}
	head, rest, _ := strings.Cut(string(text), "\nclients:\n")
	clients, rest, _ := strings.Cut(rest, "\nsteps:\n")
	_, tail, _ := strings.Cut(rest, "\nvariants:\n")
	head, together, is := strings.Cut(head, "\ntogether:\n")
	if w.Blank = (tale.Blank{Head: head + "\n", Clients: "clients:\n" + clients + "\nsteps:\n", Tail: "variants:\n" + tail}); is {
		w.Blank.Together = "together:\n" + together + "\n"
	}
	return nil
}

// title is what a story is called that was found.
func (w *World) title() string {
	return fmt.Sprintf("The smallest story that does harm, by the settings of %s/%s", w.scenario.Name, w.variant.Name)
}
