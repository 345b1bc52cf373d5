package play

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
)

// Question is what a page asks.
type Question struct {
	Asks  string     `json:"asks"` // one of those below
	World tale.World `json:"world"`
	Path  []string   `json:"path"` // steps, each by its text in a Choice
}

// What a page asks of a path.
const (
	AsksState = "state" // a State
	AsksHarm  = "harm"  // a Way that goes on from the path
	AsksLeads = "leads" // a Way for each choice, in their order
)

// Way is how harm is reached.
type Way struct {
	Path  []string `json:"path"`  // of the smallest story that does harm; none was found: empty
	Depth int      `json:"depth"` // of what was looked at, in steps from the path on
	Whole bool     `json:"whole"` // longer stories do nothing else
}

// Bounds of a page's searches: it has one thread, and somebody waits.
var (
	harmBounds = explore.Bounds{Depth: 16, Memory: 64 << 20, Side: 1}
	leadBounds = explore.Bounds{Depth: 8, Memory: 1 << 20, Side: 1}
)

// Answer answers a Question in JSON. The error says what is wrong with it.
func Answer(question []byte) ([]byte, error) {
	var q Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("the question is not as it must be: %w", err)
	}
	path, err := Path(&q.World, q.Path)
	if err != nil {
		return nil, err
	}
	var answer any
	switch q.Asks {
	case AsksState:
		answer, err = At(&q.World, path)
	case AsksHarm:
		answer, err = way(&q.World, path, harmBounds)
	case AsksLeads:
		answer, err = leads(&q.World, path)
	default:
		err = fmt.Errorf("the page asks for %q, want %s, %s or %s", q.Asks, AsksState, AsksHarm, AsksLeads)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func leads(w *tale.World, path []model.Step) ([]Way, error) {
	state, err := after(w, path)
	if err != nil {
		return nil, err
	}
	ways := []Way{}
	for step, move := range state.Next(&w.Settings) {
		longer := append(append([]model.Step{}, path...), step)
		if move.Harm != model.None {
			ways = append(ways, Way{Path: Texts(w, longer)})
			continue
		}
		found, err := way(w, longer, leadBounds)
		if err != nil {
			return nil, err
		}
		ways = append(ways, found)
	}
	return ways, nil
}

func way(w *tale.World, path []model.Step, b explore.Bounds) (Way, error) {
	f, err := Harmful(context.Background(), w, path, b)
	return Way{Path: Texts(w, f.Path), Depth: f.Depth, Whole: f.Whole}, err
}

// Texts are the texts of a path's steps. Where a step is written in several lines, its text has them all.
func Texts(w *tale.World, path []model.Step) []string {
	list := []string{}
	var state model.State
	for _, step := range path {
		list = append(list, text(w, &state, step))
		move, _ := state.Take(&w.Settings, step)
		state = move.State
	}
	return list
}
