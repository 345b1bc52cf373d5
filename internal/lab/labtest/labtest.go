// Package labtest runs scenarios in the tests of lock services.
package labtest

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Services are those of a package's tests.
type Services []*service.Service

// Of are the services of the tests of one.
func Of(one *service.Service) Services { return Services{one} }

// Main is the TestMain of a lock service, whose test binary is its own servers, storage, clients and janitor. So
// many tests run side by side, as runs mostly wait. ends end what they share.
func (s Services) Main(m *testing.M, parallel int, ends ...func() error) {
	proctest.Play(lab.Roles(s)...)
	proctest.SideBySide(parallel)
	code := m.Run()
	for _, end := range ends {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Parse reads scenarios.
func (s Services) Parse(t *testing.T, pattern string) (list []*scenario.Scenario) {
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
		list = append(list, parse(t, s, file, data))
	}
	return list
}

func parse(t *testing.T, services []*service.Service, file string, data []byte) *scenario.Scenario {
	t.Helper()
	s, err := lab.Language(services).Parse(file, strings.TrimSuffix(filepath.Base(file), ".yaml"), data)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

// Tell runs each variant of stories in a test of its own, side by side.
func Tell(t *testing.T, stories []*scenario.Scenario, o lab.Options) {
	t.Helper()
	Each(t, stories, func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) { Run(t, s, v, o) })
}

// InGo are stories without the variants that have clients in other languages, which take long.
func InGo(of *service.Service, stories []*scenario.Scenario) (list []*scenario.Scenario) {
	for _, s := range stories {
		other := *s
		other.Variants = slices.DeleteFunc(slices.Clone(s.Variants), func(v scenario.Variant) bool { return len(service.PeersOf(of, &v)) > 0 })
		list = append(list, &other)
	}
	return list
}

// Run runs a variant by the test's own program, and holds it to what is expected. No history: it has failed.
func Run(t *testing.T, s *scenario.Scenario, v *scenario.Variant, o lab.Options) []history.Event {
	t.Helper()
	events, judged, err := run(t, s, v, o)
	if err != nil {
		t.Error(err)
	} else if len(judged.Mismatches) > 0 {
		t.Errorf("%s: %q", judged.Name, judged.Mismatches)
	}
	return events
}

// run runs and judges a variant, up to five times where a busy machine leaves it undecided; no events: it has failed.
func run(t *testing.T, s *scenario.Scenario, v *scenario.Variant, o lab.Options) (events []history.Event, judged judge.Judgement, err error) {
	o.Exe = os.Args[0]
	for n := 0; n == 0 || n < 5 && judged.Open() && !judged.OK(); n++ {
		if events, err = lab.Run(t.Context(), s, v, o); err != nil {
			return nil, judged, err
		}
		judged, err = judge.Judge(events)
	}
	return events, judged, err
}

// Stories are testdata's and, in the long form, what is shipped, which package e2e tells by gcsim itself.
func Stories(t *testing.T, of *service.Service) []*scenario.Scenario {
	t.Helper()
	stories := Of(of).Parse(t, "testdata/*.yaml")
	if need.Long() {
		stories = append(stories, Of(of).Parse(t, "../../../scenarios/"+of.Name+"/*.yaml")...)
	}
	return stories
}

// Recipe is a way to take locks, for a table. Its settings have the form "by: fenced, renew: watchdog".
type Recipe struct {
	Name    string
	Service string
	World   string // settings of its servers
	Client  string // settings of its clients
	Against string // settings of a client that must not hold the lock beside one of them
	Token   bool   // it gives a number, which the storage checks
	Shared  bool   // it takes the lock together with others
	Whole   bool   // its clients cannot stand in the middle of taking a lock
}

// Property is a column of the table: a story that ends as expected where a recipe has it.
type Property struct {
	Name  string
	Story string            // a file, or one of stories, which services share; "": that of the property's name
	Not   func(Recipe) bool // for whom it makes no sense; nil: for nobody
}

// Exclusive and those below are what every lock service can be asked for.
var (
	Exclusive     = Property{Name: "exclusive"}
	Shared        = Property{Name: "shared"}
	Reentrant     = Property{Name: "re-entrant"}
	Try           = Property{Name: "try"}
	Interruptible = Property{Name: "interruptible"}
	Fair          = Property{Name: "fair"}
	FairQueue     = Property{Name: "fair", Story: "stories/queue.yaml"} // where the account tells who waits
	Expires       = Property{Name: "expires"}
	Token         = Property{Name: "token", Not: func(r Recipe) bool { return !r.Token }}
	Pause         = Property{Name: "pause", Not: func(r Recipe) bool { return r.Shared }}
)

//go:embed stories
var shared embed.FS

func (p Property) story(t *testing.T, services []*service.Service, r Recipe) *scenario.Scenario {
	t.Helper()
	file := cmp.Or(p.Story, path.Join("stories", p.Name+".yaml"))
	text, err := shared.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := template.Must(template.New(file).Parse(string(text))).Execute(&b, r); err != nil {
		t.Fatal(err)
	}
	return parse(t, services, file, []byte(b.String()))
}

// Table tells the story of each property of each recipe, by processes of the test's own program, and holds the page
// of recipes in the folder of the service's chapters to what came of them, below testdata/table/head.md. A property
// without a sense for a recipe has a dash.
func Table(t *testing.T, chapters string, of *service.Service, recipes []Recipe, properties []Property) {
	t.Helper()
	need.Time(t, "to tell a story for each cell")
	servers := Share(t)
	cells := make([][]string, len(recipes))
	t.Run("table", func(t *testing.T) {
		for i, r := range recipes {
			cells[i] = make([]string, len(properties))
			for j, p := range properties {
				cells[i][j] = "–"
				if p.Not != nil && p.Not(r) {
					continue
				}
				t.Run(r.Name+"/"+p.Name, func(t *testing.T) {
					t.Parallel()
					cells[i][j] = p.tell(t, of, r, servers)
				})
			}
		}
	})
	head, err := os.ReadFile("testdata/table/head.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(head)
	row := func(name string, cells []string) { fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(cells, " | ")) }
	var names, rules []string
	for _, p := range properties {
		names, rules = append(names, p.Name), append(rules, "---")
	}
	row("recipe", names)
	row("---", rules)
	for i, r := range recipes {
		row("`"+r.Name+"`", cells[i])
	}
	b.WriteString("\nThe columns:\n\n")
	for _, p := range properties {
		fmt.Fprintf(&b, "- *%s*: %s.\n", p.Name, p.story(t, []*service.Service{of}, recipes[0]).Title)
	}
	golden.Check(t, path.Join("../../..", chapters, "recipes.md"), b.String())
}

func (p Property) tell(t *testing.T, of *service.Service, r Recipe, servers *lab.Shared) string {
	s := p.story(t, Of(of), r)
	_, judged, err := run(t, s, &s.Variants[0], lab.Options{Services: Of(of), Shared: servers})
	switch {
	case err != nil:
		t.Fatal(err)
	case len(judged.Mismatches) > 0:
		t.Logf("no: %q", judged.Mismatches)
		return "no"
	}
	return "yes"
}

// NotJoined: a lock service that is there already, at addr, is refused with a reason.
func NotJoined(t *testing.T, of *service.Service, addr, reason string) {
	t.Helper()
	if _, _, err := of.At(addr); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("at an address: %v, want %q", err, reason)
	}
	if err := of.Reach(t.Context(), []string{addr}); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("it reaches one: %v, want %q", err, reason)
	}
}
