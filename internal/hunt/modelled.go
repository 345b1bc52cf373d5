package hunt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/world"
	"github.com/fencelab/fencelab/internal/history"
)

// modelSteps is how many steps a story of the model has at most.
const modelSteps = 12

// modelled is what comes of a story by the model.
type modelled struct {
	verdict string
	answers []string // of the storage
}

// FromModel has the stories come from the explorer's model, with each fault that can come. What real processes do in
// another way is a finding, and nothing else is. The error says what the model lacks.
func (w *World) FromModel() (err error) {
	if w.model, err = world.Of(w.Options.Services, w.Scenario, w.Variant); err != nil {
		return err
	}
	_, err = w.model.Allow(w.language, world.FaultNames())
	return err
}

// tellModelled tells a random story of the model. The world that it returns is the story's own.
func (w *World) tellModelled(ctx context.Context, random *rand.Rand) (*World, run) {
	s, events, err := w.model.Random(w.language, random, modelSteps)
	if err != nil {
		return w, run{err: err}
	}
	there := *w
	there.Scenario, there.Variant = s, &s.Variants[0]
	there.modelled = &modelled{there.Variant.Expect.WantedVerdict(), world.Answers(events)}
	events, err = there.run(ctx, there.Variant, w.Options)
	return &there, run{steps: there.Variant.Steps, events: events, err: err}
}

// unlike is in what a run differs from the story of the model; "" where it does not, as far as it was seen.
func (m *modelled) unlike(verdict string, answers []string) (kind, text string) {
	switch {
	case verdict == history.Undecided:
	case verdict != m.verdict:
		return Unlike + ": " + verdict, fmt.Sprintf("By the model the story is %s, and by real processes %s.", m.verdict, verdict)
	case !slices.Equal(answers, m.answers):
		return Unlike + ": answers", fmt.Sprintf("The storage answered %q, and the model's %q.", answers, m.answers)
	}
	return "", ""
}
