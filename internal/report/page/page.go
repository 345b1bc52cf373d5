// Package page writes HTML pages about many runs: one about all, which has their pictures when asked for, and one
// about each scenario, with the diagrams of its runs.
package page

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

//go:embed scenario.html.tmpl
var scenarioSource string

//go:embed page.css
var lightStyle string

//go:embed page-dark.css
var darkStyle string

//go:embed theme.js
var theme string

//go:embed steps.js
var steps string

// scenarioPage has the diagram's template beside its own.
var scenarioPage = template.Must(template.Must(svg.Template.Clone()).New("scenario").Parse(scenarioSource))

// Scenario writes the page about the results of one scenario, with all steps of its runs. It needs nothing from
// outside, and is meant for the directory of the scenario's name, beside the runs' own files.
func Scenario(w io.Writer, results []story.Result, chapter func(scenario string) string) error {
	s := newSection("", results, chapter)
	return svg.Render(w, scenarioPage, struct {
		head
		section
	}{newHead(s.Title, steps), s})
}

type head struct {
	Window string // what its title says
	Policy string // what the page may load: pictures beside it
	Style  template.CSS
	Script template.JS
}

func newHead(window, script string) head {
	style, script := Style(), theme+script
	policy := fmt.Sprintf("default-src 'none'; img-src 'self' file:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))
	return head{window, policy, template.CSS(style), template.JS(script)}
}

// section is a scenario, and its runs: the harm before what helps.
type section struct {
	ID, Name, Title string
	Chapter         string // its address
	Page            string // its address, from the page about all; "": there is none
	Lesson, Helps   []string
	Source          string
	Runs            []shown
}

func newSection(id string, results []story.Result, address func(scenario string) string) section {
	first := results[0]
	s := section{ID: id, Name: story.Clean(first.Scenario, story.MaxName), Chapter: address(first.Scenario)}
	s.Title = cmp.Or(story.Prose(first.Title), s.Name)
	for i, r := range story.ControlFirst(results, func(r story.Result) story.Result { return r }) {
		if s.Page == "" && len(r.Events) > 0 {
			run := r.Run()
			s.Lesson, s.Helps, s.Source = paragraphs(run.Lesson), paragraphs(run.Helps), long(run.Source)
			s.Page = link(".", r.Scenario, "index.html")
		}
		s.Runs = append(s.Runs, newShown(i, r))
	}
	return s
}

func (s section) Missed() bool {
	return slices.ContainsFunc(s.Runs, func(r shown) bool { return r.Missed })
}

// shown is a run.
type shown struct {
	ID            string
	Variant, Name string // the name says the round, too
	About         string
	Verdict       string
	Tone          story.Tone
	Expectation   string
	AsExpected    story.Tone
	Missed        bool // it did not come out as expected
	Took          string
	Trouble       string // why there is no verdict
	result        story.Result
}

func newShown(i int, r story.Result) shown {
	o := r.Outcome.Clean()
	run := history.Run{Variant: r.Variant, Control: r.Control}
	if len(r.Events) > 0 {
		run = r.Run()
	}
	run = story.CleanRun(run)
	s := shown{ID: fmt.Sprintf("r%d", i+1), Took: story.Say("%s", story.Took(r.Took)).String(), Missed: r.Skipped == "" && !r.Expected(), result: r}
	if s.Name, s.About = story.Variant(run); len(r.Events) == 0 {
		s.Name, s.About = cmp.Or(s.Name, "not read"), "" // nothing says how it was
	}
	if s.Variant = s.Name; r.Round > 0 {
		s.Name += fmt.Sprintf(", round %d", r.Round)
	}
	switch {
	case r.Skipped != "":
		s.Verdict, s.Trouble, s.Took = "left out", long(r.Skipped), ""
	case r.Err != nil:
		s.Verdict, s.Tone, s.Trouble = "failed", story.Bad, long(r.Err.Error())
	default:
		s.Verdict, s.Tone = o.Name, o.Tone()
		s.Expectation, s.AsExpected = o.Expectation(run.Control), o.ExpectedTone()
	}
	return s
}

type picture struct {
	Class string
	Scene svg.Scene
}

// Pictures are those of a run: of several rounds, of the first and of those that did not come out as expected.
func (s shown) Pictures() []picture {
	r := s.result
	if len(r.Events) == 0 || r.Round > 1 && !s.Missed {
		return nil
	}
	return []picture{{"wide", svg.Inline(r.Drawing(), svg.Wide)}, {"narrow", svg.Inline(r.Drawing(), svg.Narrow)}}
}

// Files are those that a run leaves: of one that did not come to its end the history, if it began.
func (s shown) Files() []string {
	if s.Judged() {
		return []string{"history.jsonl", "verdict.json", "timeline.svg", "porcupine.html"}
	}
	return []string{"history.jsonl"}[:min(1, len(s.result.Events))]
}

// Judged reports whether it has a verdict, and files of pictures.
func (s shown) Judged() bool { return len(s.result.Events) > 0 && s.result.Err == nil }

// Link is the address of one of its files.
func (s shown) Link(from, file string) string { return link(from, s.result.Dir(), file) }

// link is the address of a file. The dots before it keep a name with a colon from being taken for a scheme.
func link(from string, parts ...string) string {
	to := url.URL{Path: from + "/" + path.Join(parts...)}
	return to.String()
}

// long is a text for people where there is room.
func long(s string) string { return story.Clean(strings.Join(strings.Fields(s), " "), 4000) }

// paragraphs are those of a text, which blank lines part.
func paragraphs(s string) (list []string) {
	for part := range strings.SplitSeq(s, "\n\n") {
		if part = long(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// Style is the CSS of the page and its diagrams.
func Style() string {
	return lightStyle + ".diagram {\n" + svg.LightStyle + "}\n" + Dark(darkStyle+".diagram {\n"+svg.DarkStyle+"}\n")
}

// Dark is a style for who asked for a dark page, by the system or the button.
func Dark(style string) string {
	return "@media (prefers-color-scheme: dark) {\n:root:not([data-theme=light]) {\n" + style + "}\n}\n" +
		":root[data-theme=dark] {\n" + style + "}\n"
}

// digest is how a content security policy names a script or a style.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

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
