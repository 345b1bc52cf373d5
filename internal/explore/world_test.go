package explore

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

func shipped(t *testing.T) (list []*scenario.Scenario) {
	t.Helper()
	language := lab.Language(all.List)
	files, err := fs.Glob(scenarios.FS, "*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(scenarios.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := language.Parse(file, strings.TrimSuffix(path.Base(file), ".yaml"), data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// TestShippedRunsArePaths: each shipped story of which the model has all is a path of it, with the same verdict.
func TestShippedRunsArePaths(t *testing.T) {
	outside, inside := 0, 0
	for _, s := range shipped(t) {
		for i := range s.Variants {
			v := &s.Variants[i]
			w, err := Of(all.List, s, v)
			if err != nil {
				outside++
				if v.World.Service == "etcd" {
					t.Logf("outside: %v", err)
				}
				continue
			}
			inside++
			m, err := w.Follow(v.Steps)
			if err != nil {
				t.Errorf("%s/%s: %v", s.Name, v.Name, err)
				continue
			}
			verdict := Verdict(m.Harm)
			if want := v.Expect.WantedVerdict(); verdict != want {
				t.Errorf("%s/%s: %s (harm %d), want %s", s.Name, v.Name, verdict, m.Harm, want)
			}
			if want := v.Expect.Stale; want != nil && *want != m.Stale {
				t.Errorf("%s/%s: %d stale, want %d", s.Name, v.Name, m.Stale, *want)
			}
			if want := v.Expect.Refused; want != nil && *want != m.Refused {
				t.Errorf("%s/%s: %d refused, want %d", s.Name, v.Name, m.Refused, *want)
			}
		}
	}
	t.Logf("%d inside, %d outside", inside, outside)
}

// TestControlsAreFound: from a control's settings alone, without its steps.
func TestControlsAreFound(t *testing.T) {
	for _, s := range shipped(t) {
		for i := range s.Variants {
			v := &s.Variants[i]
			w, err := Of(all.List, s, v)
			if err != nil {
				continue
			}
			f := Search(t.Context(), &w.Settings, Bounds{Depth: 10, Memory: 50 << 20}, func(Found) {})
			var lines []string
			for n, step := range f.Path {
				lines = append(lines, w.Names.Text(step, n))
			}
			if f.Path != nil {
				_, events := w.Tell(f.Path)
				j, err := judge.Judge(events)
				if err != nil || j.Name != Verdict(f.Harm) {
					t.Errorf("%s/%s: the verdict is %q %v, %v, and the model's harm is %d", s.Name, v.Name, j.Name, j.Violations, err, f.Harm)
				}
			}
			t.Logf("%s/%s control %t: harm %d, %d states, depth %d, whole %t: %s", s.Name, v.Name, v.Control, f.Harm, f.States, f.Depth, f.Whole, strings.Join(lines, "; "))
		}
	}
}
