package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// rules are texts of the model's files, each a rule, and what has the rule be off. Of a rule that no shipped variant needs
// no story knows; package model has TestRequests for such rules. No test can notice that a change's client, its tenure and
// whether it was heard of decide what is Late: a request of another client or tenure does other harm, too, and a killed
// client asks for nothing more.
var rules = []struct{ file, text, off string }{
	{"act.go", "if c.waits() || c.Place == over {", "if false {"},
	{"act.go", "if w.Clients[i].Token == TokenAgain && r.Token != 0 {", "if false {"},
	{"act.go", "chose.Look == LookBegin && !begins:", "false:"},
	{"act.go", "return true, s.believes(i)", "return true, true"},
	{"lock.go", "waits && c.Life != dead {", "false {"},
	{"lock.go", "frees = r.Tenure == s.Holder", "frees = true"},
	{"lock.go", "frees = int(s.Owner) == w.Clients[i].Session", "frees = true"},
	{"lock.go", "if w.Clients[i].Renews != Retakes ||", "if true ||"},
	{"lock.go", "(chose.Listens || c.Place == lost)", "false"},
	{"lock.go", "s.stuck(w) ||", "false ||"},
	{"tenure.go", "c.Unaware = c.Life == stands && !w.Clients[i].Clock ||", "c.Unaware = false ||"},
	{"tenure.go", "(w.Queue || c.Life == runs && s.reaches(w, i))", "true"},
	{"tenure.go", "c.Place != lost &&", ""},
	{"tenure.go", "c.Ticket < s.Clients[first].Ticket", "c.Ticket > s.Clients[first].Ticket"},
	{"tenure.go", "case TokenLater:", "case 200:"},
	{"tenure.go", "case TokenApart:", "case 200:"},
	{"tenure.go", "case TokenUnordered:", "case 200:"},
	{"tenure.go", "s.Drawn = s.Saved - 1", "_ = s.Saved"},
	{"state.go", "if w.Kept && s.Clients[s.Owner].Ticket != 0 {", "if false {"},
	{"state.go", "return s.Clients[s.Owner].Life == dead", "return true"},
	{"state.go", "return c.Life != runs || c.Cut", "return c.Life != runs"},
	{"state.go", "c.Life == runs && (c.Doing.Verb != 0) == (step.Verb == Finish)", "c.Life == runs"},
	{"state.go", "step.Verb >= PauseClient || c.Life == runs &&", "step.Verb >= PauseClient ||"},
	{"state.go", "(c.Has == s.Holder || c.Unaware)", "true"},
	{"store.go", "if w.Clients[i].ByKey {", "if false {"},
	{"store.go", "if w.Fence == FenceForgetful && r.Verb == Delete {", "if false {"},
	{"store.go", "w.Fence == FenceOff || r.Verb == Read && r.Token == 0", "w.Fence == FenceOff"},
	{"store.go", "case w.Fence == FenceObserve:", "case false:"},
	{"store.go", "case w.Bound &&", "case false &&"},
	{"store.go", "case r.Tenure == 0 && r.Verb != Read && s.Used > 0:", "case false:"},
	{"store.go", "case r.Tenure != 0 && r.Tenure < s.Used && r.Verb != Read:", "case false:"},
	{"store.go", "if s.Worked&^(1<<i) != 0 {", "if false {"},
	{"store.go", "key.Known && key.Holds {", "key.Known && false {"},
	{"store.go", "k.Half ||", ""},
	{"store.go", "&& r.Tenure > m.State.newest(w)", ""},
	{"store.go", "return uint(s.Written&^foundTorn) == w.Together", "return true"},
	{"node.go", "s.Dead |= 1 << k", "_ = k"},
	{"node.go", "s.Dead &^= 1 << k; !w.Persists", "s.Dead &^= 1 << k; false"},
	{"node.go", "numbers && w.Nodes == 1", "false"},
	{"node.go", "c.Has == lost && w.Clients[i].Clock", "c.Has == lost && false"},
}

// story is one of a world, what comes of it, and what cannot come then, neither by the language nor by the model.
type story struct {
	Name           string
	Settings       model.Settings
	Steps, Cannot  []model.Step
	Harms          bool
	Corrupts       bool
	Stale, Refused *int
	Comes          map[model.What]int // how often; nil: it is not told
}

// TestEachRuleIsNoticed: without any one of its rules the model tells a story otherwise. Such a story is a shipped one, or
// a random one, with its verdict and with what the lock service and the storage do, as in the stories that real processes
// tell.
func TestEachRuleIsNoticed(t *testing.T) {
	need.Time(t, "to build the model again for each rule")
	stories := filepath.Join(t.TempDir(), "stories")
	writeStories(t, stories)
	if out, err := withoutRule(t, stories, rules[0].file, rules[0].text, rules[0].text); err != nil {
		t.Fatalf("no rule is off, and yet: %v\n%s", err, out)
	}
	for i, r := range rules {
		if i%8 != 0 && !need.Long() {
			continue
		}
		out, err := withoutRule(t, stories, r.file, r.text, r.off)
		if err == nil || !strings.Contains(out, "--- FAIL: TestStories") {
			t.Errorf("%s, %q as %q: want that TestStories fails, got %v\n%s", r.file, r.text, r.off, err, out)
		}
	}
}

func writeStories(t *testing.T, name string) {
	t.Helper()
	language := lab.Language(all.List)
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	to := json.NewEncoder(file)
	add := func(s story, verdict string) {
		s.Harms, s.Corrupts = verdict != history.Safe, verdict == history.Corrupted
		if err := to.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := inside(t)
	known := make(map[string]bool) // worlds
	for n, w := range list {
		shipped := story{Name: w.name, Settings: w.Settings, Stale: w.variant.Expect.Stale, Refused: w.variant.Expect.Refused}
		for _, step := range w.variant.Steps {
			steps, err := w.steps(step)
			if err != nil {
				t.Fatal(err)
			}
			shipped.Steps = append(shipped.Steps, steps...)
		}
		add(shipped, w.variant.Expect.WantedVerdict())
		settings, err := json.Marshal(w.Settings)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(uint64(n), 5))
		for i := 0; i < 200 && !known[string(settings)]; i++ {
			path, _ := w.wander(random, 14)
			lines, events := w.Tell(path)
			j, err := judge.Judge(events)
			if err != nil { // nobody had the lock
				continue
			}
			s := story{Name: fmt.Sprint(w.name, lines), Settings: w.Settings, Steps: path, Comes: make(map[model.What]int)}
			w.foretell(t, &s, language, lines, i%20 == 0)
			add(s, j.Name)
		}
		known[string(settings)] = true
	}
}

// foretell notes what comes of a path and, if that is asked, what cannot come then.
func (w *World) foretell(t *testing.T, s *story, language *scenario.Language, lines []string, cannot bool) {
	t.Helper()
	var state model.State
	for _, step := range s.Steps {
		var log model.Log
		m, _ := state.Tell(&w.Settings, step, &log)
		for _, e := range log.Entries {
			s.Comes[e.What]++
		}
		state = m.State
	}
	if !cannot {
		return
	}
	of, _ := w.file(t, language, lines, history.Safe)
	telling := language.Tell(of, &of.Variants[0])
	for _, line := range lines {
		if _, err := telling.Take(line); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
	}
	for verb := model.Lock; verb <= model.FillNode; verb++ {
		for i := range w.Names.Clients {
			step, now := model.Step{Verb: verb, Client: uint8(i)}, *telling
			_, err := now.Take(w.Names.Text(step, 1))
			if m, comes := state.Take(&w.Settings, step); err != nil && !(comes && m.State != state) {
				s.Cannot = append(s.Cannot, step)
			}
		}
	}
}

// withoutRule tells the stories by a model in which a file has another text.
func withoutRule(t *testing.T, stories, file, text, off string) (out string, err error) {
	t.Helper()
	whole, err := filepath.Abs(filepath.Join("../model", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), text); n != 1 {
		t.Fatalf("%s has %q %d times", file, text, n)
	}
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{whole: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{broken: []byte(strings.Replace(string(source), text, off, 1)), overlay: replace} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run=^TestStories$", "-overlay="+overlay, "../model")
	cmd.Env = append(os.Environ(), "FENCELAB_STORIES="+stories)
	got, err := cmd.CombinedOutput()
	return string(got), err
}
