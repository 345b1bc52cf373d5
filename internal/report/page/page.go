// Package page writes one HTML page about many runs, with their diagrams.
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

//go:embed page.html.tmpl
var source string

//go:embed page.css
var lightStyle string

//go:embed page-dark.css
var darkStyle string

//go:embed page.js
var script string

// pages has the diagram's template beside its own.
var pages = template.Must(template.Must(svg.Template.Clone()).New("page").Parse(source))

// Write writes one HTML page about all results, the same for the same ones. It needs nothing from outside and opens
// from the disk. It links to the files of each run at its Dir, relative to its own directory, and to the chapter of
// each scenario, at the address that chapter says; "": there is none.
func Write(w io.Writer, results []story.Result, chapter func(scenario string) string) error {
	return svg.Render(w, pages, newPage(results, chapter))
}

type page struct {
	Title    string
	Policy   string // what the page may load: nothing
	Style    template.CSS
	Script   template.JS
	Sections []section
}

type section struct {
	ID, Name, Title string
	Chapter         string // its address
	Lesson, Helps   []string
	Source          string
	Runs            []shown
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

type shown struct {
	ID            string
	Variant, Name string // the name says the round, too
	About         string
	Verdict       string
	Tone          story.Tone
	Expectation   string
	AsExpected    story.Tone
	Took          string
	Trouble       string // why there is no verdict
	Pictures      []picture
	Files         []file
}

type picture struct {
	Class string
	Scene svg.Scene
}

type file struct{ Name, Link string }

func newPage(results []story.Result, address func(scenario string) string) page {
	style := Style()
	p := page{
		Style: template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script)),
	}
	places := map[string]int{}
	asExpected := 0
	for i, r := range results {
		n, ok := places[r.Scenario]
		if !ok {
			n = len(p.Sections)
			places[r.Scenario] = n
			name := story.Clean(r.Scenario, story.MaxName)
			p.Sections = append(p.Sections, section{ID: fmt.Sprintf("s%d", n+1), Name: name, Title: cmp.Or(story.Prose(r.Title), name), Chapter: address(r.Scenario)})
		}
		s := &p.Sections[n]
		if len(s.Lesson) == 0 && len(r.Events) > 0 {
			run := r.Run()
			s.Lesson, s.Helps, s.Source = paragraphs(run.Lesson), paragraphs(run.Helps), long(run.Source)
		}
		run := newShown(i, r)
		if run.Trouble == "" && r.Outcome.OK {
			asExpected++
		}
		s.Runs = append(s.Runs, run)
	}
	p.Title = fmt.Sprintf("%d of %d runs as expected", asExpected, len(results))
	return p
}

func newShown(i int, r story.Result) shown {
	o := r.Outcome.Clean()
	run := history.Run{Variant: r.Variant, Control: r.Control}
	if len(r.Events) > 0 {
		run = r.Run()
	}
	run = story.CleanRun(run)
	s := shown{ID: fmt.Sprintf("r%d", i+1), Took: story.Say("%s", story.Took(r.Took)).String()}
	if s.Name, s.About = story.Variant(run); len(r.Events) == 0 {
		s.Name, s.About = cmp.Or(s.Name, "not read"), "" // nothing says how it was
	}
	if s.Variant = s.Name; r.Round > 0 {
		s.Name += fmt.Sprintf(", round %d", r.Round)
	}
	switch {
	case r.Skipped != "":
		s.Verdict, s.Trouble, s.Took = "skipped", long(r.Skipped), ""
		return s
	case r.Err != nil:
		s.Verdict, s.Tone, s.Trouble = "failed", story.Bad, long(r.Err.Error())
	default:
		s.Verdict, s.Tone = o.Name, o.Tone()
		s.Expectation, s.AsExpected = o.Expectation(run.Control), o.ExpectedTone()
	}
	s.Files = files(r)
	if len(r.Events) > 0 && (r.Round <= 1 || s.Trouble != "" || !o.OK) {
		s.Pictures = []picture{{"wide", svg.Inline(r.Drawing(), svg.Wide)}, {"narrow", svg.Inline(r.Drawing(), svg.Narrow)}}
	}
	return s
}

// files are those that a run leaves: of one that did not come to its end the history, if it began.
func files(r story.Result) (list []file) {
	names := []string{"history.jsonl", "verdict.json", "timeline.svg", "porcupine.html"}
	if r.Err != nil {
		names = names[:min(1, len(r.Events))]
	}
	for _, name := range names {
		// The dot keeps a name with a colon from being taken for a scheme.
		link := url.URL{Path: "./" + path.Join(r.Dir(), name)}
		list = append(list, file{name, link.String()})
	}
	return list
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

// Style is the CSS of the page and its diagrams. Dark is for who asked for it, by the system or the button.
func Style() string {
	dark := darkStyle + ".diagram {\n" + svg.DarkStyle + "}\n"
	return lightStyle + ".diagram {\n" + svg.LightStyle + "}\n" +
		"@media (prefers-color-scheme: dark) {\n:root:not([data-theme=light]) {\n" + dark + "}\n}\n" +
		":root[data-theme=dark] {\n" + dark + "}\n"
}

// digest is how a content security policy names a script or a style.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
