package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

//go:embed index.html.tmpl
var indexSource string

//go:embed filter.js
var filter string

// indexPage has parts of a scenario's page.
var indexPage = template.Must(template.Must(scenarioPage.Clone()).New("index").Parse(indexSource))

// Index writes the page about all results, the same for the same ones. It opens from the disk, and loads the pictures
// of runs, at their Dir below its own directory, when somebody asks for them. It links to the page of each scenario,
// and to its chapter, at the address that chapter says; "": there is none.
func Index(w io.Writer, results []story.Result, chapter func(scenario string) string) error {
	p := index{head: newHead(long(story.Summary(results)), filter)}
	for _, of := range story.Grouped(results, func(r story.Result) string { return r.Service }) {
		s := service{ID: fmt.Sprintf("service%d", len(p.Services)+1), Name: cmp.Or(story.Clean(of[0].Service, story.MaxName), "not read"), Summary: long(story.Summary(of))}
		for _, one := range story.Grouped(of, story.OfScenario) {
			scenario := newSection(fmt.Sprintf("s%d-%d", len(p.Services)+1, len(s.Scenarios)+1), one, chapter)
			if s.Scenarios = append(s.Scenarios, scenario); scenario.Missed() {
				p.Missed = append(p.Missed, scenario)
			}
		}
		p.Services = append(p.Services, s)
	}
	return svg.Render(w, indexPage, p)
}

type index struct {
	head
	Missed   []section // with runs that did not come out as expected
	Services []service
}

type service struct {
	ID, Name, Summary string
	Scenarios         []section
}

// Ends are what came of a scenario's runs: of rounds that came to the same, one entry.
func (s section) Ends() (list []end) {
	for _, r := range s.Runs {
		i := slices.IndexFunc(list, func(e end) bool { return e.same(r) })
		if i < 0 {
			list = append(list, end{r, 1})
			continue
		}
		list[i].Rounds++
	}
	return list
}

// end is a run that stands for all rounds that came to the same.
type end struct {
	shown
	Rounds int
}

func (e end) same(r shown) bool {
	return e.Variant == r.Variant && e.Verdict == r.Verdict && e.Expectation == r.Expectation && e.Trouble == r.Trouble
}
