package labtest

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// Recipe is a way to take locks, of which a table says what it does. Its settings are in
// the form "by: fenced, renew: watchdog".
type Recipe struct {
	Name    string
	Service string
	World   string // settings of its servers
	Client  string // settings of its clients
	Against string // settings of a client that must not hold the lock beside one of them
	Token   bool   // it gives a number, which the storage checks
	Shared  bool   // it takes the lock together with others
}

// Property is a column of the table: a story that ends as expected where a recipe has it.
type Property struct {
	Name  string
	Story string            // a file; "" is that of the property's name, which all services share
	Not   func(Recipe) bool // for whom it makes no sense; nil: for nobody
}

// Exclusive and those below are what every lock service can be asked for.
var (
	Exclusive = Property{Name: "exclusive"}
	Shared    = Property{Name: "shared"}
	Reentrant = Property{Name: "re-entrant"}
	Try       = Property{Name: "try"}
	Fair      = Property{Name: "fair"}
	Expires   = Property{Name: "expires"}
	Token     = Property{Name: "token", Not: func(r Recipe) bool { return !r.Token }}
	Pause     = Property{Name: "pause", Not: func(r Recipe) bool { return r.Shared }}
)

//go:embed stories
var shared embed.FS

func (p Property) story(t *testing.T, services []*service.Service, r Recipe) *scenario.Scenario {
	t.Helper()
	file := p.Story
	text, err := os.ReadFile(file)
	if file == "" {
		file = path.Join("stories", p.Name+".yaml")
		text, err = shared.ReadFile(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := template.Must(template.New(file).Parse(string(text))).Execute(&b, r); err != nil {
		t.Fatal(err)
	}
	s, err := lab.Language(services).Parse(file, strings.TrimSuffix(filepath.Base(file), ".yaml"), []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Table tells the story of each property of each recipe, by processes of the test's own
// program, and returns what became of them, as Markdown. A property without a sense for a
// recipe has a dash.
func Table(t *testing.T, of *service.Service, recipes []Recipe, properties []Property) string {
	servers := &lab.Shared{Exe: os.Args[0]}
	defer func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	}()
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
	var b strings.Builder
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
	return b.String()
}

func (p Property) tell(t *testing.T, of *service.Service, r Recipe, servers *lab.Shared) string {
	services := []*service.Service{of}
	s := p.story(t, services, r)
	events, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Exe: os.Args[0], Services: services, Shared: servers})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := judge.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(judged.Mismatches) > 0 {
		t.Logf("no: %q", judged.Mismatches)
		return "no"
	}
	return "yes"
}
