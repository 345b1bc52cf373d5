// Package play answers a page whose stage has a model for its world: how all is after a path of steps, which steps can
// come next, and which of those lead to harm. It compiles to WebAssembly.
package play

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/frames"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// State is all that a page shows of a story.
type State struct {
	Steps   []string       `json:"steps"` // in the language of scenarios
	Frames  []frames.Frame `json:"frames"`
	Verdict frames.Verdict `json:"verdict"`
	Picture string         `json:"picture"` // SVG; "" before the first step
	Choices []Choice       `json:"choices"`
	Lacks   string         `json:"lacks"` // what the model leaves out
}

// Choice is a step that can come next.
type Choice struct {
	Step    string `json:"step"`
	Client  string `json:"client"`  // whom it is about; "": none
	Verdict string `json:"verdict"` // of the model, on the story that ends by this step
}

// At is how all is after a path. The error names a step that cannot come.
func At(w *tale.World, path []model.Step) (s State, err error) {
	state, err := after(w, path)
	if err != nil {
		return s, err
	}
	s = State{Choices: []Choice{}, Lacks: model.LeavesOut}
	steps, events := w.Tell(path)
	s.Steps = append([]string{}, steps...)
	if err := s.show(w, events[:shown(w, &state, events)]); err != nil {
		return s, err
	}
	for step, move := range state.Next(&w.Settings) {
		c := Choice{Step: text(w, &state, step), Verdict: tale.Verdict(move.Harm)}
		if step.Verb < model.KillTheStorage {
			c.Client = w.Names.Clients[step.Client]
		}
		s.Choices = append(s.Choices, c)
	}
	return s, nil
}

// shown is how many events a page shows: without the end of the story while a client stands in the middle of something.
func shown(w *tale.World, state *model.State, events []history.Event) int {
	if state.Rests(&w.Settings) {
		return len(events)
	}
	for i, e := range events {
		if e.Kind == history.KindFinal || e.Kind == history.KindEnd {
			return i
		}
	}
	return len(events)
}

func (s *State) show(w *tale.World, events []history.Event) error {
	v := verdict.Judge(events)
	outcome := story.Outcome{Name: v.Name, Free: true, Violations: v.Violations, Noted: v.Noted()}
	d := story.Drawing{Events: events, Outcome: outcome}
	film := frames.Of(d, frames.Options{InMemory: w.Settings.Memory})
	s.Frames, s.Verdict = film.Frames, film.Verdict(outcome)
	if len(s.Steps) == 0 {
		return nil
	}
	var picture bytes.Buffer
	err := svg.Figure(&picture, d, svg.Narrow)
	s.Picture = picture.String()
	return err
}

// Harmful is the smallest story that goes on from a path and does harm, with how far the search came.
func Harmful(ctx context.Context, w *tale.World, path []model.Step, b explore.Bounds) (explore.Found, error) {
	state, err := after(w, path)
	if err != nil {
		return explore.Found{}, err
	}
	b.From = state
	found := explore.Search(ctx, &w.Settings, b, func(explore.Found) {})
	if found.Path != nil {
		found.Path = append(append([]model.Step{}, path...), found.Path...)
	}
	return found, nil
}

// after is the model's state after a path.
func after(w *tale.World, path []model.Step) (state model.State, err error) {
	for n, step := range path {
		move, ok := state.Take(&w.Settings, step)
		if !ok {
			return state, fmt.Errorf("step %d, %q, cannot come there", n+1, text(w, &state, step))
		}
		state = move.State
	}
	return state, nil
}

// text is a step that comes in a state.
func text(w *tale.World, state *model.State, step model.Step) string {
	return w.Names.Text(step, state.Clients[step.Client].Asked+1)
}

// Path finds the steps of these texts. The error names a text that is no step of the world, or a step that cannot come.
func Path(w *tale.World, texts []string) (path []model.Step, err error) {
	var state model.State
	for n, line := range texts {
		step, ok := find(w, &state, line)
		if !ok {
			return nil, fmt.Errorf("line %d, %q, is no step of this world", n+1, line)
		}
		move, ok := state.Take(&w.Settings, step)
		if !ok {
			return nil, fmt.Errorf("line %d, %q, cannot come there", n+1, line)
		}
		path, state = append(path, step), move.State
	}
	return path, nil
}

func find(w *tale.World, state *model.State, line string) (model.Step, bool) {
	for verb := model.Lock; verb <= model.FillNode; verb++ {
		for c := range w.Names.Clients {
			for k := range w.Names.Keys {
				for node := range max(1, w.Settings.Nodes) {
					step := model.Step{Verb: verb, Client: uint8(c), Key: uint8(k), Node: uint8(node)}
					if text(w, state, step) == line {
						return step, true
					}
				}
			}
		}
	}
	return model.Step{}, false
}
