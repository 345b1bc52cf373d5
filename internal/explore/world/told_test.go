package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
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
// failure names is told again by "gcsim run" from its file.
func TestRandomPathsAreTold(t *testing.T) {
	services, language := embedded(t), lab.Language(all.List)
	shared := labtest.Share(t)
	list, _ := inside(t)
	for _, name := range []string{
		"01-gc-pause/fenced", "01-gc-pause/unfenced",
		"04-paused-watchdog/fenced", "04-paused-watchdog/watchdog",
		"01-token-file/fenced", "01-token-file/unfenced",
	} {
		i := slices.IndexFunc(list, func(w shipped) bool { return w.name == name })
		if i < 0 {
			t.Errorf("%s is outside", name)
			continue
		}
		w := list[i]
		if err := w.Allow(language, []string{"pause"}); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(uint64(i), 2))
		for n := range 5 {
			path, harm := w.wander(random, 10)
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				steps, _ := w.Tell(path)
				text, err := w.File(language, steps, Verdict(harm))
				if err != nil {
					t.Fatal(err)
				}
				s, err := language.Parse("told.yaml", "told", text)
				if err != nil {
					t.Fatalf("%v in\n%s", err, text)
				}
				labtest.Run(t, s, &s.Variants[0], lab.Options{Services: services, Shared: shared})
				if t.Failed() {
					t.Logf("%s", text)
				}
			})
		}
	}
}
