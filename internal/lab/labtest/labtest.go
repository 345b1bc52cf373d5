// Package labtest runs scenarios in the tests of lock services.
package labtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Main is the TestMain of a lock service, whose test binary is its own servers, storage, clients
// and janitor. So many tests run side by side, as runs mostly wait. ends end what the tests have
// shared.
func Main(m *testing.M, services []*service.Service, parallel int, ends ...func() error) {
	proctest.Play(lab.Roles(services)...)
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range ends {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Parse reads the scenarios of a pattern of file names.
func Parse(t *testing.T, services []*service.Service, pattern string) (list []*scenario.Scenario) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios %s (%v)", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := lab.Language(services).Parse(file, strings.TrimSuffix(filepath.Base(file), ".yaml"), data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// Share is what runs share. It ends with the test.
func Share(t *testing.T) *lab.Shared {
	t.Helper()
	shared := &lab.Shared{Exe: os.Args[0]}
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared
}

// Each tells each variant of stories in a test of its own, side by side.
func Each(t *testing.T, stories []*scenario.Scenario, tell func(*testing.T, *scenario.Scenario, *scenario.Variant)) {
	t.Helper()
	for _, s := range stories {
		for i := range s.Variants {
			v := &s.Variants[i]
			t.Run(s.Name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				tell(t, s, v)
			})
		}
	}
}

// InGo are stories without the variants that have clients in Java, which take long.
func InGo(of *service.Service, stories []*scenario.Scenario) (list []*scenario.Scenario) {
	for _, s := range stories {
		other := *s
		other.Variants = slices.DeleteFunc(slices.Clone(s.Variants), func(v scenario.Variant) bool { return service.InJava(of, &v) })
		list = append(list, &other)
	}
	return list
}

// Run runs a variant by processes of the test's own program, and holds it to what the
// scenario expects and to what a history is. Without a history the test has failed.
func Run(t *testing.T, s *scenario.Scenario, v *scenario.Variant, o lab.Options) []history.Event {
	t.Helper()
	o.Exe = os.Args[0]
	events, err := lab.Run(t.Context(), s, v, o)
	if err != nil {
		t.Error(err)
		return nil
	}
	judged, err := judge.Judge(events)
	if err != nil {
		t.Error(err)
	}
	if len(judged.Mismatches) > 0 {
		t.Errorf("%s: %q", judged.Name, judged.Mismatches)
	}
	return events
}

// Stories are what the tests of a service tell: what lies in testdata, and in the long form what is
// shipped, too. That package e2e tells each time, by gcsim itself.
func Stories(t *testing.T, of *service.Service) []*scenario.Scenario {
	t.Helper()
	services := []*service.Service{of}
	stories := Parse(t, services, "testdata/*.yaml")
	if need.Long() {
		stories = append(stories, Parse(t, services, "../../../scenarios/"+of.Name+"/*.yaml")...)
	}
	return stories
}
