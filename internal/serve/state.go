package serve

import (
	"bytes"
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// state is all that a page shows of a world but the picture. Times are milliseconds.
type state struct {
	ID      string   `json:"id"`
	Version int      `json:"version"`
	Phase   string   `json:"phase"`
	Trouble string   `json:"trouble,omitempty"` // why the run ended before its end
	Doing   string   `json:"doing,omitempty"`   // the step that goes on
	Title   string   `json:"title"`
	Variant string   `json:"variant"`
	About   string   `json:"about"`
	Steps   []string `json:"steps"`
	Plan    []string `json:"plan"`
	Strayed bool     `json:"strayed"` // a step was another one than that of the plan, which is over
	Choices []choice `json:"choices"`
	Clients []client `json:"clients"`
	Now     int64    `json:"now"`    // by the run's clock
	Events  int      `json:"events"` // of the history so far
	Rows    []row    `json:"rows"`
	Verdict said     `json:"verdict"`
	Story   string   `json:"story"` // the scenario; "" where there is no step yet

	Lesson string `json:"lesson"` // of the scenario
	Helps  string `json:"helps"`
	Fenced bool   `json:"fenced"` // the storage checks tokens
	Keys   []held `json:"keys"`   // of the storage
	Marks  []mark `json:"marks"`
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

type choice struct {
	Step   string `json:"step"`
	Text   string `json:"text"`
	Client string `json:"client,omitempty"` // whom it is about; "": none
	Fault  bool   `json:"fault"`            // something is done to it
	Main   bool   `json:"main"`             // most stories need it
	About  string `json:"about"`
}

type client struct {
	Name     string `json:"name"`
	TTL      int64  `json:"ttl"`
	State    string `json:"state"` // running, paused or dead
	Since    int64  `json:"since"` // it is so
	Holds    bool   `json:"holds"` // by the lock service's account
	Believes bool   `json:"believes"`
}

type row struct {
	At   string `json:"at"`
	Text string `json:"text"`
	Harm bool   `json:"harm"`
}

type said struct {
	Name     string     `json:"name"`
	Tone     story.Tone `json:"tone"`
	Findings []string   `json:"findings"`
}

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
		Steps: lines(told), Plan: slices.Clone(w.plan), Strayed: w.strayed, Choices: []choice{}, Events: len(w.events),
		Phase: phaseStarting, Rows: []row{}, Story: w.story(),
		Lesson: w.scenario.Lesson, Helps: w.scenario.Helps, Fenced: w.variant.World.Storage.Fencing == scenario.FencingOn,
	}
	s.Keys, s.Marks = holds(w.events, w.variant.World.Storage)
	if s.Plan == nil {
		s.Plan = []string{}
	}
	switch {
	case w.result != nil && w.result.Err != nil:
		s.Phase, s.Trouble = phaseFailed, w.result.Err.Error()
	case w.result != nil:
		s.Phase = phaseOver
	case w.ended:
		s.Phase, s.Doing = phaseBusy, "the end"
	case w.waits():
		s.Phase, s.Choices = phaseWaiting, w.choices()
	case w.asked > 0:
		s.Phase, s.Doing = phaseBusy, s.Steps[w.overSteps()]
	}
	outcome := w.outcome(len(w.events))
	s.Verdict = said{Name: outcome.Name, Tone: outcome.Tone(), Findings: []string{}}
	for _, f := range outcome.Findings() {
		s.Verdict.Findings = append(s.Verdict.Findings, f.String())
	}
	s.show(w, outcome)
	if w.challenge != nil {
		s.Challenge = &challengeState{w.challenge, w.server.Chapter(w.challenge.Scenario), outcome.Name == history.Corrupted}
	}
	return s, w.changed
}

func (s *state) show(w *world, outcome story.Outcome) {
	b := story.NewBuilder()
	rows := b.Add(w.events, outcome.Drawn())
	for _, r := range story.Fold(rows, b.Run().Fencing) {
		s.Rows = append(s.Rows, row{story.Clock(r.At), r.Text.String(), r.Harmful()})
	}
	if len(w.events) > 0 {
		s.Now = time.Since(w.began).Milliseconds()
		if w.result != nil {
			s.Now = w.events[len(w.events)-1].At.Milliseconds()
		}
		_, s.About = story.Variant(b.Run())
	}
	states := map[story.State]string{story.Running: "running", story.Paused: "paused", story.Dead: "dead"}
	for _, name := range w.scenario.Clients {
		c := client{Name: name, TTL: w.variant.Clients[name].Time(setting.TTL).Milliseconds(), State: "running"}
		if i := story.Index(b.Lanes(), name); i >= 0 {
			l := b.Lanes()[i]
			c.State, c.Since, c.Holds, c.Believes = states[l.State], l.Since.Milliseconds(), l.Tenure > 0, l.Believes
		}
		s.Clients = append(s.Clients, c)
		if s.Fenced && b.Run().Tokens[name] == history.ShowsNone {
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
	return story.Outcome{Name: v.Name, Free: true, Violations: v.Violations, Noted: v.Noted()}
}

// mainActs begin the steps that most stories need.
var mainActs = []string{"lock within", "begin write", "write", "read", "finish", "unlock"}

func (w *world) choices() (list []choice) {
	for _, c := range w.telling.Choices() {
		own := c.Step.Actor == c.Step.Client
		one := choice{Step: c.Step.String(), Text: c.Step.Text, Fault: !own, About: c.About}
		if slices.Contains(w.scenario.Clients, c.Step.Client) {
			one.Client = c.Step.Client
		}
		one.Main = own && slices.ContainsFunc(mainActs, func(act string) bool { return strings.HasPrefix(c.Step.Text, act) })
		list = append(list, one)
	}
	return list
}

// story is the scenario of what was told and is planned, as YAML; "" where that is nothing.
func (w *world) story() string {
	steps := w.telling.Told()
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
	err := svg.Render(&b, pictures, struct{ Wide, Narrow svg.Scene }{svg.Inline(d, svg.Wide), svg.Inline(d, svg.Narrow)})
	return b.String(), err
}

var pictures = template.Must(template.Must(svg.Template.Clone()).New("pictures").Parse(
	`<figure class="wide">{{template "diagram.svg.tmpl" .Wide}}</figure><figure class="narrow">{{template "diagram.svg.tmpl" .Narrow}}</figure>`))

type held struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Client string `json:"client,omitempty"` // that wrote it; "": it was read at the end
}

type mark struct {
	Scope string      `json:"scope"`
	Mark  fence.Token `json:"mark,string"`
}

// holds says what the storage holds after events, by its own account.
func holds(events []history.Event, of scenario.Storage) (keys []held, marks []mark) {
	l := history.NewLedger()
	for _, e := range events {
		if e.Lane == history.LaneStorage && e.Kind == history.KindKill && of.Engine == scenario.EngineMemory && of.In == scenario.InProcess {
			l.Forget()
		}
		l.Take(e)
	}
	keys, marks = []held{}, []mark{}
	for _, key := range slices.Sorted(maps.Keys(l.Values)) {
		keys = append(keys, held{key, l.Values[key].Value, l.Values[key].Client})
	}
	for _, scope := range slices.Sorted(maps.Keys(l.Marks)) {
		marks = append(marks, mark{scope, l.Marks[scope]})
	}
	return keys, marks
}
