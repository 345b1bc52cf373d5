package world

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// walked are the verbs of random stories: what clients do with one key, and what can happen to them. A step that waits
// comes only if the model says that the wait has an end.
var walked = map[model.Verb]struct{ waits bool }{
	model.LockWithin: {}, model.TryLock: {}, model.Queue: {}, model.Leave: {waits: true}, model.Unlock: {},
	model.Read: {}, model.Write: {}, model.Delete: {}, model.BeginRead: {}, model.BeginWrite: {}, model.BeginDelete: {},
	model.BeginLock: {waits: true}, model.BeginUnlock: {}, model.Finish: {waits: true},
	model.PauseClient: {}, model.ResumeClient: {}, model.KillClient: {}, model.AwaitExpiry: {waits: true},
}

// walker tells a random story of a world, of steps that a scenario can have where the story stands.
type walker struct {
	*World
	telling *scenario.Telling
	random  *rand.Rand
	state   model.State
	path    []model.Step
	harm    model.Harm
}

// possible are the steps that can come, by the telling alone, and what they are in the model.
func (w *walker) possible(t *testing.T) (lines []string, steps []model.Step) {
	t.Helper()
	var texts []string
	for _, c := range w.telling.Choices() {
		texts = append(texts, c.Step.String())
	}
	for i := range w.Names.Clients {
		texts = append(texts, w.Names.Text(model.Step{Verb: model.AwaitExpiry, Client: uint8(i)}, 0))
	}
	for _, text := range texts {
		step, err := w.telling.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := w.steps(step); err == nil && len(list) == 1 && !w.races(list[0]) && !w.unnamed(list[0]) {
			if _, is := walked[list[0].Verb]; is {
				lines, steps = append(lines, text), append(steps, list[0])
			}
		}
	}
	return lines, steps
}

// races reports whether what comes of a step depends on how soon a lease ends, or on whether a client has heard of its
// grant.
func (w *walker) races(s model.Step) bool {
	var next []model.Step
	for step := range w.state.Next(&w.Settings) {
		next = append(next, step)
	}
	if len(next) == 1 && next[0].Verb == model.Lock {
		return s.Verb != model.LockWithin || s.Client != next[0].Client
	}
	if s.Verb != model.LockWithin && s.Verb != model.TryLock && s.Verb != model.BeginLock {
		return false
	}
	for i := range w.Names.Clients {
		if _, ends := w.state.Take(&w.Settings, model.Step{Verb: model.AwaitExpiry, Client: uint8(i)}); ends {
			return true
		}
	}
	return false
}

// unnamed reports whether a client that waits asks for something under a tenure, and the lock service tells nobody who
// waits. A history does not know that tenure unless it is granted.
func (w *walker) unnamed(s model.Step) bool {
	return !w.Settings.Queue && w.state.Clients[s.Client].Ticket != 0 && s.Verb >= model.Unlock && s.Verb <= model.Finish
}

// walk tells one step more; false: none can come. Where the model cannot follow, the test fails.
func (w *walker) walk(t *testing.T) bool {
	t.Helper()
	lines, steps := w.possible(t)
	for _, n := range w.random.Perm(len(lines)) {
		line, step := lines[n], steps[n]
		if step.Verb == model.LockWithin { // if nobody has to give way, it waits as long as it may
			if _, comes := w.state.Take(&w.Settings, model.Step{Verb: model.Lock, Client: step.Client}); comes {
				step.Verb = model.Lock
			}
		}
		m, ok := w.state.Take(&w.Settings, step)
		if !ok && !walked[step.Verb].waits {
			told, _ := w.Tell(w.path)
			t.Errorf("after %q the story can go on by %q, and the model's cannot", told, line)
		}
		if !ok || m.Harm == model.Orphaned { // which takes as long as a client waits
			continue
		}
		if _, err := w.telling.Take(line); err != nil {
			continue
		}
		w.state, w.path, w.harm = m.State, append(w.path, step), m.Harm
		return true
	}
	return false
}

// TestRandomStoriesAreFollowed: the model follows each random story of steps that a scenario can have, and real processes
// that tell it come to the model's verdict.
func TestRandomStoriesAreFollowed(t *testing.T) {
	services, language := embedded(t), lab.Language(all.List)
	shared := labtest.Share(t)
	each := 12
	if need.Long() {
		each = 60
	}
	list, _ := inside(t)
	for n, name := range []string{"01-gc-pause/fenced", "03-check-then-write/token", "16-waiter-is-owner/first-in-queue", "01-token-file/fenced"} {
		of := byName(t, list, name)
		random := rand.New(rand.NewPCG(uint64(n), 3))
		for story := range each {
			w := walker{World: of.World, telling: language.Tell(of.scenario, of.variant), random: random}
			for len(w.path) < 9 && w.harm == model.None && w.walk(t) {
			}
			t.Run(fmt.Sprintf("%s/%d", name, story), func(t *testing.T) {
				t.Parallel()
				w.leased(w.path).run(t, w.path, tale.Verdict(w.harm), lab.Options{Services: services, Shared: shared})
			})
		}
	}
}
