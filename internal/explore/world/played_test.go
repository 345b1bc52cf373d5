package world

import (
	"encoding/json"
	"testing"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/play"
)

// TestShippedStoriesOnTheStage: a page that has a model for its world shows each shipped story of which the model has all,
// and says the verdict that real processes come to.
func TestShippedStoriesOnTheStage(t *testing.T) {
	list, _ := inside(t)
	for _, w := range list {
		var path []model.Step
		for _, step := range w.variant.Steps {
			steps, err := w.steps(step)
			if err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
			path = append(path, steps...)
		}
		question, err := json.Marshal(play.Question{Asks: play.AsksState, World: w.World.World, Path: play.Texts(&w.World.World, path)})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := play.Answer(question)
		if err != nil {
			t.Errorf("%s: %v", w.name, err)
			continue
		}
		var s play.State
		if err := json.Unmarshal(answer, &s); err != nil {
			t.Fatal(err)
		}
		want := w.variant.Expect.WantedVerdict()
		if s.Verdict.Name != want {
			t.Errorf("%s: %s, %q, want %s", w.name, s.Verdict.Name, s.Verdict.Findings, want)
		}
		if len(s.Frames) < 2 || len(s.Frames[0].Clients) != len(w.Names.Clients) || s.Picture == "" {
			t.Errorf("%s: %d frames, of which the first has %d clients", w.name, len(s.Frames), len(s.Frames[0].Clients))
		}
	}
}
