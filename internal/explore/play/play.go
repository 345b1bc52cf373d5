// Package play answers a page whose stage has a model for its world: how all is after a path of steps, which steps can
// come next, and which of those lead to harm. It compiles to WebAssembly.
package play

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/frames"
	"github.com/fencelab/fencelab/internal/report/hand"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// State is all that a page shows of a story.
type State struct {
	Steps   []string       `json:"steps"` // in the language of scenarios
	About   string         `json:"about"` // what sets the variant apart
	Frames  []frames.Frame `json:"frames"`
	Verdict frames.Verdict `json:"verdict"`
	Picture string         `json:"picture"` // SVG; "" before the first step
	Choices []hand.Choice  `json:"choices"`
	Guide   *hand.Guide    `json:"guide"` // to the first step that is planned; nil: there is none
	File    string         `json:"file"`  // of a scenario of this story; "": it has no step, or cannot end here
	Lacks   string         `json:"lacks"` // what the model leaves out
}

// At is how all is after a path. The error names a step that cannot come.
func At(q *Question, path []model.Step) (s State, err error) {
	w := &q.World
	state, err := after(w, path)
	if err != nil {
		return s, err
	}
	s = State{Lacks: model.LeavesOut}
	steps, events := w.Tell(path)
	s.Steps = append([]string{}, steps...)
	if err := s.show(w, events, state.Rests(&w.Settings), q.Ends); err != nil {
		return s, err
	}
	if len(path) > 0 && !state.StorageDead {
		s.File = w.Blank.File(steps, events, s.Verdict.Name)
	}
	if len(q.Plan) > 0 {
		step, ok := find(w, &state, q.Plan[0])
		if !ok {
			return s, fmt.Errorf("%q is planned, and is no step of this world", q.Plan[0])
		}
		s.Guide = &hand.Guide{Choice: q.choice(&state, step)}
	}
	choices, stands := []hand.Choice{}, make(map[string]hand.Stand)
	for step := range state.Next(&w.Settings) {
		choices = append(choices, q.choice(&state, step))
	}
	for i, name := range w.Names.Clients {
		c := &state.Clients[i]
		stands[name] = hand.Stand{
			Begun: c.Doing.Verb != 0, Queued: c.Ticket != 0, Believes: c.Has != 0, Taken: state.Holder != 0 && int(state.Owner) != i,
		}
	}
	s.Choices = hand.Order(choices, stands, s.Guide)
	return s, nil
}

// choice is a step that comes in a state.
func (q *Question) choice(state *model.State, step model.Step) hand.Choice {
	client, begun := "", ""
	if step.Verb < model.KillTheStorage {
		client = q.World.Names.Clients[step.Client]
		begun = strings.TrimPrefix(state.Clients[step.Client].Doing.Verb.Form(), "client: ")
	}
	return hand.New(q.World.Text(state, step), client, q.Abouts[step.Verb.Form()], begun)
}

// unended is a story without its end.
func unended(events []history.Event) []history.Event {
	end := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == history.KindFinal || e.Kind == history.KindEnd })
	if end < 0 {
		return events
	}
	return events[:end]
}

// timeless is a story all of which is at the same time, as the model has none.
func timeless(events []history.Event) []history.Event {
	list := slices.Clone(events)
	for i := range list {
		list[i].At = 0
	}
	return list
}

// show shows the events of a story. rests: it can end here. ends: it does. The end, and times, are shown where the
// verdict needs them.
func (s *State) show(w *tale.World, events []history.Event, rests, ends bool) error {
	if !rests {
		events = unended(events)
	}
	v := verdict.Judge(events)
	for _, simpler := range []func([]history.Event) []history.Event{unended, timeless} {
		fewer := simpler(events)
		if same := verdict.Judge(fewer); same.Name == v.Name && len(same.Violations) == len(v.Violations) {
			events, v = fewer, same
		}
	}
	outcome := story.Outcome{Name: v.Name, Free: true, GoesOn: !rests || !ends, Violations: v.Violations, Noted: v.Noted()}
	d := story.Drawing{Events: events, Outcome: outcome}
	film := frames.Of(d, frames.Options{InMemory: w.Settings.Memory})
	s.About, s.Frames, s.Verdict = film.About, film.Frames, film.Verdict(outcome)
	if len(s.Steps) == 0 {
		return nil
	}
	var picture bytes.Buffer
	err := svg.Figure(&picture, d, svg.Narrow)
	s.Picture = picture.String()
	return err
}

// Harmful is the smallest story that goes on from a path and does harm, with how far the search came.
func Harmful(ctx context.Context, w *tale.World, path []model.Step, b explore.Bounds, tell func(explore.Found)) (explore.Found, error) {
	state, err := after(w, path)
	if err != nil {
		return explore.Found{}, err
	}
	b.From = state
	found := explore.Search(ctx, &w.Settings, b, tell)
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
			return state, fmt.Errorf("step %d, %q, cannot come there", n+1, w.Text(&state, step))
		}
		state = move.State
	}
	return state, nil
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
					if w.Text(state, step) == line {
						return step, true
					}
				}
			}
		}
	}
	return model.Step{}, false
}
