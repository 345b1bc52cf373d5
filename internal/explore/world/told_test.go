package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 4) }

// embedded are the lock services, where those that this program has in itself are not looked for elsewhere.
func embedded(t *testing.T) (list []*service.Service) {
	t.Helper()
	for _, s := range all.List {
		if s.Name == "redis" {
			at, _, err := s.At("embedded")
			if err != nil {
				t.Fatal(err)
			}
			s = at
		}
		list = append(list, s)
	}
	return list
}

// TestRandomPathsAreTold: real processes tell a random path of the model, and the verdict is the model's. A path that a
// failure names is told again by "gcsim run" from its file. The long form tells 672.
func TestRandomPathsAreTold(t *testing.T) {
	services, language := embedded(t), lab.Language(all.List)
	shared := labtest.Share(t)
	each := 4
	if need.Long() {
		each = 84
	}
	list, _ := inside(t)
	for name, faults := range map[string][]string{
		"01-gc-pause/fenced": {"pause", "crash", "partition", "delay"}, "01-gc-pause/unfenced": {"pause", "crash", "partition", "delay"},
		"17-clock-jump/fenced": {"pause", "crash", "clock"}, "17-clock-jump/jump": {"crash", "clock"},
		"04-paused-watchdog/fenced": {"pause", "crash", "delay"}, "04-paused-watchdog/watchdog": {"pause", "crash", "delay"},
		"01-token-file/fenced": {"pause", "crash", "delay"}, "01-token-file/unfenced": {"pause", "crash", "delay"},
	} {
		i := slices.IndexFunc(list, func(w shipped) bool { return w.name == name })
		if i < 0 {
			t.Errorf("%s is outside", name)
			continue
		}
		w := list[i]
		if _, err := w.Allow(language, faults); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(uint64(i), 2))
		for n := range each {
			var path []model.Step
			var harm model.Harm
			for len(path) == 0 {
				path, harm = w.wander(random, 10)
			}
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				w.leased(path).run(t, path, tale.Verdict(harm), lab.Options{Services: services, Shared: shared})
			})
		}
	}
}

// run has real processes tell a path, of which this verdict must come, and the answers of the model's storage.
func (w *World) run(t *testing.T, path []model.Step, verdict string, o lab.Options) {
	t.Helper()
	language := lab.Language(all.List)
	lines, modelled := w.Tell(path)
	s, text := w.file(t, language, lines, verdict)
	events := labtest.Run(t, s, &s.Variants[0], o)
	if diff := cmp.Diff(Answers(modelled), Answers(events)); diff != "" {
		t.Errorf("the storage's answers (-model +real):\n%s", diff)
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}
