package world

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/explore/play"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

// TestShippedStoriesOnTheStage: a page that has a model for its world shows each shipped story of which the model has all,
// and says the verdict that real processes come to.
func TestShippedStoriesOnTheStage(t *testing.T) {
	list, _ := inside(t)
	language := lab.Language(all.List)
	for _, w := range list {
		plan, err := w.Plan()
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if err := w.Fill(language, "A story"); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		question, err := json.Marshal(play.Question{Asks: play.AsksState, World: w.World.World, Path: plan})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := play.Answer(question, nil)
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
			t.Errorf("%s: %s, %q, want %s", w.name, s.Verdict.Name, s.Verdict.Why, want)
		}
		for _, path := range [][]string{plan, plan[:1]} {
			if err := w.canRun(language, path); err != nil {
				t.Errorf("%s after %q: %v", w.name, path, err)
			}
		}
		if len(s.Frames) < 2 || len(s.Frames[0].Clients) != len(w.Names.Clients) || s.Picture == "" {
			t.Errorf("%s: %d frames, of which the first has %d clients", w.name, len(s.Frames), len(s.Frames[0].Clients))
		}
	}
}

// canRun says why the file of a path is none that can be run, or is not as files are written.
func (w *World) canRun(language *scenario.Language, texts []string) error {
	path, err := play.Path(&w.World, texts)
	if err != nil {
		return err
	}
	steps, events := w.Tell(path)
	file := w.Blank.File(steps, events, history.Safe)
	told, err := language.Parse("told.yaml", "told", []byte(file))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, file)
	}
	same, err := language.Format(told, &told.Variants[0], told.Variants[0].Steps, history.Safe)
	if err == nil && string(same) != file {
		err = fmt.Errorf("it differs from what is written: %s", cmp.Diff(string(same), file))
	}
	return err
}
