package world

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/explore/play"
	"github.com/fencelab/fencelab/internal/lab"
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
			t.Errorf("%s: %s, %q, want %s", w.name, s.Verdict.Name, s.Verdict.Findings, want)
		}
		told, err := language.Parse(w.name, "told", []byte(s.File))
		if err != nil {
			t.Errorf("%s: no file that can be run: %v\n%s", w.name, err, s.File)
			continue
		}
		same, err := language.Format(told, &told.Variants[0], told.Variants[0].Steps, want)
		if err != nil || string(same) != s.File {
			t.Errorf("%s: %v\n%s", w.name, err, cmp.Diff(string(same), s.File))
		}
		if len(s.Frames) < 2 || len(s.Frames[0].Clients) != len(w.Names.Clients) || s.Picture == "" {
			t.Errorf("%s: %d frames, of which the first has %d clients", w.name, len(s.Frames), len(s.Frames[0].Clients))
		}
	}
}
