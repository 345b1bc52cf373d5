package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

//go:embed page.css
var pageStyle string

//go:embed page-dark.css
var pageDarkStyle string

//go:embed page.js
var pageScript string

// Dir is where the files of a run belong, below the directory of all reports:
// NAME/VARIANT, or NAME/VARIANT/ROUND where there are several rounds. It has
// slashes on every system.
func Dir(r Result) string {
	dir := path.Join(r.Scenario, r.Variant)
	if r.Round > 0 {
		dir = path.Join(dir, strconv.Itoa(r.Round))
	}
	return dir
}

// Page writes one HTML page about all results. It needs nothing from outside
// and opens from the disk; it links to the files of each run at Dir, relative
// to its own directory. It is the same for the same results.
func Page(w io.Writer, results []Result) error {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "page.html.tmpl", newPage(results)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	Title    string
	Policy   string // what the page may load: nothing
	Style    template.CSS
	Script   template.JS
	Runs     []shown
	Chapters []chapter
}

// chapter is a scenario with its runs.
type chapter struct {
	ID, Name, Title string
	Lesson, Helps   []string // paragraphs
	Source          string
	Runs            []shown
}

// shown is a run.
type shown struct {
	ID, Chapter    string
	Scenario, Name string
	About          string
	Verdict        string
	Tone           Tone
	Expectation    string
	AsExpected     Tone
	Took           string
	Trouble        string // why there is no verdict
	Pictures       []picture
	Files          []file
}

type picture struct {
	Class string
	Scene scene
}

type file struct{ Name, Link string }

func newPage(results []Result) page {
	style := pageCSS()
	p := page{
		Style: template.CSS(style), Script: template.JS(pageScript),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(pageScript)),
	}
	places := map[string]int{}
	asExpected := 0
	for i, r := range results {
		n, ok := places[r.Scenario]
		if !ok {
			n = len(p.Chapters)
			places[r.Scenario] = n
			p.Chapters = append(p.Chapters, newChapter(n, r))
		}
		c := &p.Chapters[n]
		if lesson := runOf(r); len(c.Lesson) == 0 && lesson != nil {
			c.Lesson, c.Helps = paragraphs(lesson.Lesson), paragraphs(lesson.Helps)
			c.Source = clean(oneLine(lesson.Source), longest)
		}
		run := newShown(i, c.ID, r)
		if run.Trouble == "" && r.Outcome.OK {
			asExpected++
		}
		c.Runs, p.Runs = append(c.Runs, run), append(p.Runs, run)
	}
	p.Title = fmt.Sprintf("%d of %d runs as expected", asExpected, len(results))
	return p
}

func newChapter(n int, r Result) chapter {
	return chapter{ID: fmt.Sprintf("s%d", n+1), Name: clean(r.Scenario, maxName), Title: prose(r.Title)}
}

func newShown(i int, chapter string, r Result) shown {
	o := cleanOutcome(r.Outcome)
	run := history.Run{Variant: clean(r.Variant, maxName), Control: r.Control}
	if told := runOf(r); told != nil {
		run = cleanRun(told)
	}
	s := shown{ID: fmt.Sprintf("r%d", i+1), Chapter: chapter, Scenario: clean(r.Scenario, maxName), Took: strings.ReplaceAll(took(r.Took), tie, " ")}
	if s.Name, s.About = variant(run); runOf(r) == nil {
		s.Name, s.About = cmp.Or(s.Name, "not read"), "" // nothing says how it was
	}
	if r.Round > 0 {
		s.Name += fmt.Sprintf(", round %d", r.Round)
	}
	switch {
	case r.Skipped != "":
		s.Verdict, s.Trouble, s.Took = "skipped", clean(oneLine(r.Skipped), longest), ""
		return s
	case r.Err != nil:
		s.Verdict, s.Tone, s.Trouble = "failed", Bad, clean(oneLine(r.Err.Error()), longest)
	default:
		s.Verdict, s.Tone = o.Name, o.tone()
		s.Expectation, s.AsExpected = expectation(run, o), o.asExpected()
	}
	s.Files = files(r)
	if len(r.Events) > 0 && (r.Round <= 1 || s.Trouble != "" || !o.OK) {
		s.Pictures = []picture{{"wide", inline(r.Drawing(), wide)}, {"narrow", inline(r.Drawing(), narrow)}}
	}
	return s
}

// runOf is what the history of r says was run; nil where there is none.
func runOf(r Result) *history.Run {
	if len(r.Events) == 0 {
		return nil
	}
	return r.Events[0].Run
}

// files are those that a run leaves behind: of one that could not be made to its
// end, the history, if it has begun at all.
func files(r Result) (list []file) {
	names := []string{"history.jsonl", "verdict.json", "timeline.svg", "porcupine.html"}
	if r.Err != nil {
		names = names[:min(1, len(r.Events))]
	}
	for _, name := range names {
		// The dot keeps a name with a colon from being taken for a scheme.
		link := url.URL{Path: "./" + path.Join(Dir(r), name)}
		list = append(list, file{name, link.String()})
	}
	return list
}

// longest is how much of a text for people is shown where there is room.
const longest = 4000

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// paragraphs are those of a text, which blank lines part.
func paragraphs(s string) (list []string) {
	for part := range strings.SplitSeq(s, "\n\n") {
		if part = clean(oneLine(part), longest); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// pageCSS is the style of the page and the diagrams in it. The dark look is for
// who asked for it, by the system or by the button.
func pageCSS() string {
	dark := pageDarkStyle + ".diagram {\n" + darkStyle + "}\n"
	return pageStyle + ".diagram {\n" + lightStyle + "}\n" +
		"@media (prefers-color-scheme: dark) {\n:root:not([data-theme=light]) {\n" + dark + "}\n}\n" +
		":root[data-theme=dark] {\n" + dark + "}\n"
}

// digest is how a content security policy names a script or a style.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
