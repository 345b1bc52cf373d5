package world

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// shipped is a variant of which the model has all.
type shipped struct {
	*World
	name string
}

// missing is a shipped variant of which the model lacks something.
type missing struct {
	*scenario.Variant
	of    *scenario.Scenario
	lacks error
}

// inside are the shipped variants of which the model has all, and outside the others.
func inside(t *testing.T) (list []shipped, outside []missing) {
	t.Helper()
	for _, s := range labtest.Shipped(t, lab.Language(all.List)) {
		for i := range s.Variants {
			v := &s.Variants[i]
			w, err := Of(all.List, s, v)
			if err != nil {
				outside = append(outside, missing{v, s, err})
				continue
			}
			list = append(list, shipped{w, s.Name + "/" + v.Name})
		}
	}
	return list, outside
}

// byName finds a variant by its name. The variant must not be outside.
func byName(t *testing.T, list []shipped, name string) shipped {
	t.Helper()
	i := slices.IndexFunc(list, func(w shipped) bool { return w.name == name })
	if i < 0 {
		t.Fatalf("%s is outside", name)
	}
	return list[i]
}

// follow takes a story's steps one by one, and is what comes of them in the model: of all the harm that they do, and of all
// refusals. The error names the step that cannot come, or that the model lacks.
func (w *World) follow(steps []scenario.Step) (model.Move, error) {
	var all model.Move
	for n, step := range steps {
		list, err := w.steps(step)
		if err != nil {
			return all, err
		}
		for _, s := range list {
			m, ok := all.State.Take(&w.Settings, s)
			if !ok {
				return all, fmt.Errorf("the model's story cannot go on by %q", step)
			}
			all.State, all.Stale, all.Refused = m.State, all.Stale+m.Stale, all.Refused+m.Refused
			if !m.Ends || n == len(steps)-1 {
				all.Hurt(m.Harm)
			}
		}
	}
	return all, nil
}

// differs says what comes of a variant's own story in the model, and not in its runs; "": nothing.
func (w *World) differs() string {
	m, err := w.follow(w.variant.Steps)
	want := w.variant.Expect
	switch got := tale.Verdict(m.Harm); {
	case err != nil:
		return err.Error()
	case got != want.WantedVerdict():
		return fmt.Sprintf("%s (harm %d), want %s", got, m.Harm, want.WantedVerdict())
	case want.Stale != nil && *want.Stale != m.Stale:
		return fmt.Sprintf("%d stale, want %d", m.Stale, *want.Stale)
	case want.Refused != nil && *want.Refused != m.Refused:
		return fmt.Sprintf("%d refused, want %d", m.Refused, *want.Refused)
	}
	return ""
}

// TestShippedRunsArePaths: each shipped story of which the model has all is a path of it, with the same verdict.
func TestShippedRunsArePaths(t *testing.T) {
	list, outside := inside(t)
	for _, w := range list {
		if wrong := w.differs(); wrong != "" {
			t.Errorf("%s: %s", w.name, wrong)
		}
	}
	var lacks strings.Builder
	for _, v := range outside {
		fmt.Fprintln(&lacks, v.lacks)
	}
	golden.Check(t, "testdata/outside.txt", lacks.String())
	if 2*len(outside) > len(list) {
		t.Errorf("%d are outside, of %d: want a third at most", len(outside), len(list)+len(outside))
	}
}

// TestEachSettingIsNoticed: if a setting did nothing in the model, a shipped story would come out otherwise.
func TestEachSettingIsNoticed(t *testing.T) {
	clients := func(change func(i int, c *model.Client)) func(*model.Settings) {
		return func(w *model.Settings) {
			for i := range w.Clients {
				change(i, &w.Clients[i])
			}
		}
	}
	list, _ := inside(t)
	for name, change := range map[string]func(*model.Settings){
		"tokens are not checked":          func(w *model.Settings) { w.Fence = model.FenceOff },
		"tokens are checked":              func(w *model.Settings) { w.Fence = model.FenceOn },
		"nobody stands in a queue":        func(w *model.Settings) { w.Queue = false },
		"a storage keeps all":             func(w *model.Settings) { w.Memory = false },
		"a storage knows no bound":        func(w *model.Settings) { w.Bound = false },
		"numbers are given out again":     func(w *model.Settings) { w.Redraws = true },
		"keys are apart":                  func(w *model.Settings) { w.Together = 0 },
		"leases do not end":               clients(func(_ int, c *model.Client) { c.Renews = model.Lasts }),
		"all leases are renewed":          clients(func(_ int, c *model.Client) { c.Renews = model.RenewsAlways }),
		"no lease is renewed":             clients(func(_ int, c *model.Client) { c.Renews = model.RenewsNever }),
		"each lock has a lease at once":   clients(func(_ int, c *model.Client) { c.Unleased = false }),
		"nobody looks":                    clients(func(_ int, c *model.Client) { c.Look = model.LookNothing }),
		"each unlock frees its own":       clients(func(_ int, c *model.Client) { c.Releases = model.ReleasesOwn }),
		"each session is its client's":    clients(func(i int, c *model.Client) { c.Session = i }),
		"tokens are drawn with the grant": clients(func(_ int, c *model.Client) { c.Token = model.TokenGrant }),
		"tokens are drawn at asking":      clients(func(_ int, c *model.Client) { c.Token = model.TokenAsking }),
		"marks are of the lock":           clients(func(_ int, c *model.Client) { c.ByKey = false }),
		"reads show tokens":               clients(func(_ int, c *model.Client) { c.Plain = false }),
		"a change is one request":         clients(func(_ int, c *model.Client) { c.Singly = false }),
		"everybody asks for the lock": clients(func(_ int, c *model.Client) {
			if c.Token == model.TokenMax {
				c.Token = model.TokenAsking
			}
		}),
		"the dead leave the queue":    func(w *model.Settings) { w.Kept = false },
		"nobody takes a lock twice":   clients(func(_ int, c *model.Client) { c.Reenters = false }),
		"a token stays as it is":      clients(func(_ int, c *model.Client) { c.Raises = false }),
		"a loss is known at once":     clients(func(_ int, c *model.Client) { c.Cutoff = false }),
		"all clocks are right":        clients(func(_ int, c *model.Client) { c.Ahead = false }),
		"waiters renew nothing":       clients(func(_ int, c *model.Client) { c.Prolongs = false }),
		"waiters ask again":           clients(func(_ int, c *model.Client) { c.Listens = false }),
		"who gives up leaves nothing": clients(func(_ int, c *model.Client) { c.Lingers = false }),
		"each lock has a row":         clients(func(_ int, c *model.Client) { c.Naive = false }),
		"only holders unlock":         clients(func(_ int, c *model.Client) { c.Finally = false }),
		"nobody skips a lock":         clients(func(_ int, c *model.Client) { c.Skips = false }),
		"places in the queue stay":    clients(func(_ int, c *model.Client) { c.Clears = false }),
		"one node decides":            func(w *model.Settings) { w.Nodes = min(w.Nodes, 1) },
		"a killed node keeps all":     func(w *model.Settings) { w.Persists = true },
		"a killed node keeps nothing": func(w *model.Settings) { w.Persists = false },
		"a full node keeps numbers":   func(w *model.Settings) { w.Evicts = min(w.Evicts, model.EvictsLeases) },
		"a replica knows the lock":    func(w *model.Settings) { w.Unsent = false },
	} {
		noticed := slices.ContainsFunc(list, func(w shipped) bool {
			broken := *w.World
			broken.Settings.Clients = slices.Clone(w.Settings.Clients)
			change(&broken.Settings)
			return broken.differs() != ""
		})
		if !noticed {
			t.Errorf("no story notices that %s", name)
		}
	}
}

// TestMonitorIsTheVerdict: on random paths the model's steps do the harm that the verdict finds in their history.
// The long form has over 100,000.
func TestMonitorIsTheVerdict(t *testing.T) {
	list, _ := inside(t)
	walks := 20
	if need.Long() {
		walks = 500
	}
	for n, w := range list {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		for range walks {
			path, harm := w.wander(random, 14)
			if w.agrees(t, path, harm); t.Failed() {
				break
			}
		}
	}
}

// TestMonitorOnAllPaths: likewise on each path of two clients that write and can be paused. Those of the long form are
// longer.
func TestMonitorOnAllPaths(t *testing.T) {
	depth := 5
	if need.Long() {
		depth = 8
	}
	list, _ := inside(t)
	w := byName(t, list, "01-gc-pause/unfenced")
	w.Settings.Clients = slices.Clone(w.Settings.Clients)
	for i := range w.Settings.Clients {
		c := &w.Settings.Clients[i]
		c.Reads, c.Deletes, c.Retries = false, false, false
	}
	paths, harms := 0, 0
	var goOn func(path []model.Step, from model.State)
	goOn = func(path []model.Step, from model.State) {
		for step, m := range from.Next(&w.Settings) {
			longer := append(slices.Clip(path), step)
			if m.Harm != model.None || m.State.Rests(&w.Settings) {
				paths++
				w.agrees(t, longer, m.Harm)
			}
			switch {
			case m.Harm != model.None:
				harms++
			case len(longer) < depth && !t.Failed():
				goOn(longer, m.State)
			}
		}
	}
	goOn(nil, model.State{})
	if t.Logf("%d paths, of which %d do harm", paths, harms); paths == 0 || need.Long() && harms == 0 {
		t.Error("want more")
	}
}

// agrees has the verdict on a path be the model's.
func (w *World) agrees(t *testing.T, path []model.Step, harm model.Harm) {
	t.Helper()
	steps, events := w.Tell(path)
	if !slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.KindGranted }) {
		return // a verdict is on work under locks
	}
	if j, err := judge.Judge(events); err != nil || j.Name != tale.Verdict(harm) {
		t.Errorf("%s/%s: the verdict on %q is %q %v, %v, and the model's harm is %d", w.scenario.Name, w.variant.Name, steps, j.Name, j.Violations, err, harm)
	}
}

// TestRandomPathsAreScenarios: each random path of the model can happen by the language of scenarios, with the faults of the
// variant, and with all that can come.
func TestRandomPathsAreScenarios(t *testing.T) {
	language := lab.Language(all.List)
	list, _ := inside(t)
	walks := 5
	if need.Long() {
		walks = 100
	}
	for n, w := range list {
		random := rand.New(rand.NewPCG(uint64(n), 4))
		for walk := range walks {
			if walk == walks/2 {
				if _, err := w.Allow(language, FaultNames()); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := w.Random(language, random, 12); err != nil {
				t.Errorf("%s: %v", w.name, err)
				break
			}
		}
	}
}

// file has a story be written as a scenario, and read again.
func (w *World) file(t *testing.T, language *scenario.Language, steps []string, verdict string) (s *scenario.Scenario, text []byte) {
	t.Helper()
	text, err := w.File(language, steps, verdict)
	if err != nil {
		t.Fatalf("%s/%s: %v", w.scenario.Name, w.variant.Name, err)
	}
	s, err = language.Parse("told.yaml", "told", text)
	if err != nil {
		t.Fatalf("%s/%s: %v in\n%s", w.scenario.Name, w.variant.Name, err, text)
	}
	return s, text
}

// TestFileIsTheStory: the file of a story is a scenario with its steps, its clients and its verdict.
func TestFileIsTheStory(t *testing.T) {
	language := lab.Language(all.List)
	list, _ := inside(t)
	w := byName(t, list, "01-gc-pause/unfenced")
	f := explore.Search(t.Context(), &w.Settings, explore.Bounds{Depth: 12}, func(explore.Found) {})
	steps, _ := w.Tell(f.Path)
	s, _ := w.file(t, language, steps, tale.Verdict(f.Harm))
	var got []string
	for _, step := range s.Variants[0].Steps {
		got = append(got, step.String())
	}
	if len(steps) == 0 || !slices.Equal(got, steps) || s.Variants[0].Expect.Verdict != history.Corrupted {
		t.Errorf("the file tells %q, and wants %q; the story is %q", got, s.Variants[0].Expect.Verdict, steps)
	}
	found, err := Of(all.List, s, &s.Variants[0])
	if err != nil {
		t.Fatal(err)
	}
	if wrong := found.differs(); wrong != "" {
		t.Error(wrong)
	}
}

// TestAllow: a fault comes only where the world's stories can tell of it; elsewhere it adds nothing.
func TestAllow(t *testing.T) {
	language := lab.Language(all.List)
	list, _ := inside(t)
	for _, c := range []struct {
		service string
		faults  []string
		idle    string // in what is said of those that add nothing; "": there is none
		wrong   string // in the error; "": there is none
	}{
		{"etcd", []string{"pause", "crash", "partition", "deafen", "delay", "revoke", "restart", "restore"}, "", ""},
		{"etcd", []string{"pause", "delay", "crash", "restart", "partition", "clock"}, `"clock" adds nothing here: the model has no node`, ""},
		{"redis", []string{"pause", "partition"}, "", ""},
		{"redis", []string{"pause", "restore"}, `"restore" adds nothing here: no story has the step "gcsim: save redis"`, ""},
		{"sqlite", []string{"pause", "partition"}, `"partition" adds nothing here: no story has the step`, ""},
		{"etcd", []string{"pauze"}, "", "pause"},
	} {
		i := slices.IndexFunc(list, func(w shipped) bool { return w.Names.Service == c.service })
		if i < 0 {
			t.Fatalf("%s is outside", c.service)
		}
		idle, err := list[i].Allow(language, c.faults)
		for said, want := range map[string]string{strings.Join(idle, " "): c.idle, fmt.Sprint(err): cmp.Or(c.wrong, "<nil>")} {
			if (said == "") != (want == "") || !strings.Contains(said, want) {
				t.Errorf("%s, %q: %q, want %q", c.service, c.faults, said, want)
			}
		}
		if err == nil && list[i].Settings.Faults&model.Pause == 0 {
			t.Errorf("%s, %q: nobody can be stopped", c.service, c.faults)
		}
	}
}

// TestWiden: further clients are like the last one, and have names of their own.
func TestWiden(t *testing.T) {
	list, _ := inside(t)
	w := list[0]
	s, v, err := Widen(w.scenario, w.variant, 4)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := Of(all.List, s, v)
	if err != nil || len(wide.Settings.Clients) != 4 || len(w.scenario.Clients) == 4 {
		t.Fatalf("%v, %v", wide, err)
	}
	if _, _, err := Widen(w.scenario, w.variant, len(w.scenario.Clients)-1); err == nil {
		t.Error("a client was left out")
	}
}
