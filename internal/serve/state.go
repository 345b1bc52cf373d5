package serve

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/frames"
	"github.com/fencelab/fencelab/internal/report/hand"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// state is all that a page shows of a world but the picture. Times are milliseconds.
type state struct {
	ID      string         `json:"id"`
	Version int            `json:"version"`
	Phase   string         `json:"phase"`
	Trouble string         `json:"trouble,omitempty"` // why the run ended before its end
	Doing   string         `json:"doing,omitempty"`   // the step that goes on
	Busy    string         `json:"busy,omitempty"`    // whom that step is about
	Title   string         `json:"title"`
	Variant string         `json:"variant"`
	About   string         `json:"about"`
	Steps   []string       `json:"steps"`
	Plan    []string       `json:"plan"`
	Guide   *hand.Guide    `json:"guide,omitempty"` // to the next step of the plan
	Back    *wish          `json:"back,omitempty"`  // the story with the plan that was left
	Choices []hand.Choice  `json:"choices"`
	Frames  []frames.Frame `json:"frames"`
	Now     int64          `json:"now"`    // by the run's clock
	Events  int            `json:"events"` // of the history so far
	Verdict frames.Verdict `json:"verdict"`
	Story   string         `json:"story"` // the scenario; "" where there is no step yet

	Lesson string `json:"lesson"` // of the scenario
	Helps  string `json:"helps"`
	Fenced bool   `json:"fenced"` // the storage checks tokens
	// Refused are clients that have no token to show to a storage that wants one.
	Refused []string `json:"refused,omitempty"`

	Challenge *challengeState `json:"challenge,omitempty"`
}

const (
	phaseStarting = "starting"
	phaseWaiting  = "waiting" // for a step
	phaseBusy     = "busy"
	phaseOver     = "over"
	phaseFailed   = "failed"
)

type challengeState struct {
	*Challenge
	Chapter string `json:"chapter"`
	Solved  bool   `json:"solved"`
}

// state is how the world is now, and a channel that is closed when it is another way.
func (w *world) state() (state, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.telling.Told()
	s := state{
		ID: w.id, Version: w.version, Title: w.scenario.Title, Variant: w.variant.Name,
		Steps: lines(told), Plan: append([]string{}, w.plan...), Back: w.back, Choices: []hand.Choice{}, Events: len(w.events),
		Phase: phaseStarting, Story: w.story(told),
		Lesson: w.scenario.Lesson, Helps: w.scenario.Helps, Fenced: w.variant.World.Storage.Fencing == scenario.FencingOn,
	}
	switch {
	case w.result != nil && w.result.Err != nil:
		s.Phase, s.Trouble = phaseFailed, w.result.Err.Error()
	case w.result != nil:
		s.Phase = phaseOver
	case w.ended:
		s.Phase, s.Doing = phaseBusy, "the end"
	case w.waits():
		s.Phase = phaseWaiting
	case w.asked > 0:
		goesOn := told[w.overSteps()]
		s.Phase, s.Doing, s.Busy = phaseBusy, goesOn.String(), goesOn.Client
	}
	if w.asked > 0 && !w.ended {
		s.offer(w)
	}
	outcome := w.outcome(len(w.events))
	s.show(w, outcome)
	if w.challenge != nil {
		s.Challenge = &challengeState{w.challenge, w.server.Chapter(w.challenge.Scenario), outcome.Name == history.Corrupted}
	}
	return s, w.changed
}

func (s *state) show(w *world, outcome story.Outcome) {
	o := frames.Options{TTLs: make(map[string]time.Duration), InMemory: w.variant.World.Storage.Engine == scenario.EngineMemory && w.variant.World.Storage.In == scenario.InProcess}
	run := history.Run{Service: w.variant.World.Service, Lanes: w.scenario.Clients, Fencing: s.Fenced, Tokens: make(map[string]string)}
	for _, name := range w.scenario.Clients {
		o.TTLs[name] = w.variant.Clients[name].Time(setting.TTL)
	}
	d := story.Drawing{Events: w.events, Outcome: outcome}
	if len(w.events) == 0 { // how it will begin
		d.Events = []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &run}}
	} else {
		run = *w.events[0].Run
		s.Now = time.Since(w.began).Milliseconds()
		if w.result != nil {
			s.Now = w.events[len(w.events)-1].At.Milliseconds()
		}
	}
	film := frames.Of(d, o)
	s.Frames, s.About, s.Verdict = film.Frames, film.About, film.Verdict(outcome)
	for _, name := range w.scenario.Clients {
		if s.Fenced && run.Tokens[name] == history.ShowsNone {
			s.Refused = append(s.Refused, name)
		}
	}
}

func (w *world) outcome(events int) story.Outcome {
	switch {
	case events == 0:
		return story.Outcome{Free: true}
	case w.result != nil && events == len(w.events):
		o := w.result.Drawing().Outcome
		o.Free, o.Mismatches = true, nil
		return o
	}
	v := verdict.Judge(w.events[:events])
	return story.Outcome{Name: v.Name, Free: true, GoesOn: true, Violations: v.Violations, Noted: v.Noted()}
}

// story is the scenario of what was told and is planned, as YAML; "" where that is nothing.
func (w *world) story(told []scenario.Step) string {
	steps := slices.Clone(told)
	for _, line := range w.plan {
		if step, err := w.telling.Parse(line); err == nil {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		return ""
	}
	name := cmp.Or(w.outcome(len(w.events)).Name, history.Safe)
	text, err := w.server.Language.Format(w.scenario, w.variant, steps, name)
	if err != nil {
		return ""
	}
	return string(text)
}

func lines(steps []scenario.Step) []string {
	list := []string{}
	for _, s := range steps {
		list = append(list, s.String())
	}
	return list
}

func (w *world) picture(first int) (string, error) {
	w.mu.Lock()
	first = min(max(first, 0), len(w.events))
	events := w.events[:first]
	d := story.Drawing{Events: events, Outcome: w.outcome(first)}
	w.mu.Unlock()
	if first == 0 {
		return "", nil
	}
	var b bytes.Buffer
	err := svg.Figure(&b, d, svg.Narrow)
	return b.String(), err
}
