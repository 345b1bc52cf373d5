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
	Path  []string   `json:"path"` // steps, each by its text in a choice
	Plan  []string   `json:"plan"` // what is planned to come next
	Ends  bool       `json:"ends"` // the path is all that was planned: the verdict is the last word
	// Abouts are what is said about the steps, by their forms.
	Abouts map[string]string `json:"abouts"`
}

// What a page asks of a path.
const (
	AsksState = "state" // a State
	AsksHarm  = "harm"  // a Way that goes on from the path
	AsksLeads = "leads" // a Way for each choice
)

// Way is how harm is reached.
type Way struct {
	Step  string   `json:"step"`  // the choice; "": any
	Path  []string `json:"path"`  // of the smallest story that does harm; none was found: empty
	Depth int      `json:"depth"` // of what was looked at, in steps from the path on
	Whole bool     `json:"whole"` // longer stories do nothing else
	Full  bool     `json:"full"`  // the memory was full before all of the next depth was told
}

// Bounds of a page's searches: it has one thread, and somebody waits.
var (
	harmBounds = explore.Bounds{Depth: 60, Memory: 64 << 20, Side: 1}
	leadBounds = explore.Bounds{Depth: 16, Memory: 1 << 20, Side: 1}
)

// Answer answers a Question in JSON. The error says what is wrong with it. A search tells again and again how far it is.
func Answer(question []byte, tell func(explore.Found)) ([]byte, error) {
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
		answer, err = At(&q, path)
	case AsksHarm:
		answer, err = way(&q.World, path, harmBounds, tell)
	case AsksLeads:
		answer, err = leads(&q.World, path, tell)
	default:
		err = fmt.Errorf("the page asks for %q, want %s, %s or %s", q.Asks, AsksState, AsksHarm, AsksLeads)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func leads(w *tale.World, path []model.Step, tell func(explore.Found)) ([]Way, error) {
	state, err := after(w, path)
	if err != nil {
		return nil, err
	}
	ways := []Way{}
	for step, move := range state.Next(&w.Settings) {
		longer := append(append([]model.Step{}, path...), step)
		found := Way{Path: w.Texts(longer)}
		if move.Harm == model.None {
			if found, err = way(w, longer, leadBounds, tell); err != nil {
				return nil, err
			}
		}
		found.Step = w.Text(&state, step)
		ways = append(ways, found)
	}
	return ways, nil
}

func way(w *tale.World, path []model.Step, b explore.Bounds, tell func(explore.Found)) (Way, error) {
	f, err := Harmful(context.Background(), w, path, b, tell)
	return Way{Path: w.Texts(f.Path), Depth: f.Depth, Whole: f.Whole, Full: f.Full}, err
}
