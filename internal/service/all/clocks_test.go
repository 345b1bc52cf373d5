package all_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// Who says, by the own clock, that the lease of a dead holder is over.
const (
	ofService = "the service's clock"
	ofClient  = "the client's clock"
	ofAsker   = "the clock of who asks, which measures a time, and is compared with no other"
	ofNobody  = "no clock: the connection, the session, or nobody, ends it, or it keeps nobody out"
)

// clocks has each recipe of each service.
// clocks are the words for them.
var clocks = map[string]string{"service": ofService, "client": ofClient, "asker": ofAsker, "nobody": ofNobody}

// clocksOf has each recipe of a service, as the lines of testdata/clocks.txt in its folder say.
func clocksOf(t *testing.T, name string) map[string]string {
	t.Helper()
	file := "../" + name + "/testdata/clocks.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		said, _, _ := strings.Cut(line, "#")
		recipe, word, _ := strings.Cut(strings.TrimSpace(said), " ")
		if of[recipe] = clocks[word]; of[recipe] == "" {
			t.Errorf("%s: %q: want a recipe and one of %q", file, line, slices.Sorted(maps.Keys(clocks)))
		}
	}
	return of
}

// TestWhoseClock: a client whose clock is ahead holds the lock so much longer where its recipe
// compares with this clock, and only there.
func TestWhoseClock(t *testing.T) {
	const ahead = time.Minute
	for _, s := range all.List {
		names, clocks := recipesOf(s), clocksOf(t, s.Name)
		for _, gone := range slices.Sorted(maps.Keys(clocks)) {
			if !slices.Contains(names, gone) {
				t.Errorf("%s has no recipe %s", s.Name, gone)
			}
		}
		for _, by := range names {
			clock, known := clocks[by]
			if !known {
				t.Errorf("whose clock ends a lease of %s %s?", s.Name, by)
			}
			right, wrong := boundOf(s, by, 0), boundOf(s, by, ahead)
			if longer := wrong - right; longer != map[string]time.Duration{ofClient: ahead}[clock] {
				t.Errorf("%s %s, %s: the bound is %v, and of a client that is %v ahead %v", s.Name, by, clock, right, ahead, wrong)
			}
		}
	}
}

// recipesOf are the names of a service's recipes.
func recipesOf(s *service.Service) []string {
	by, _ := setting.Find(s.Client, service.By)
	return by.Of
}

// boundOf is for how long at most a dead client holds a lock by a recipe.
func boundOf(s *service.Service, by string, ahead time.Duration) time.Duration {
	values := setting.Defaults(slices.Concat(setting.Client, s.Client))
	values[service.By] = by
	if _, has := values[java.Ahead.Name]; has {
		values[java.Ahead.Name] = ahead.String()
	}
	bounds, _ := s.Bounds(setting.Defaults(s.World), map[string]scenario.Client{"c": {Values: values}})
	return bounds["c"]
}
