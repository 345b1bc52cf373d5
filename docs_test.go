package fencelab_test

import (
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/scenario"

	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/service/all"
)

// language is what scenarios can say.
var language = lab.Language(all.List)

// aPicture is how documents show a picture: to phones in its narrow form, and to
// those who cannot see it in words, which begin with what it is of.
const aPicture = `(?m)^<picture>
  <source media="\(max-width: 767px\)" srcset="%[1]s-narrow\.svg">
  <img alt="%[2]s[. ][^"]{20,}" src="%[1]s\.svg">
</picture>$`

// timelines says how many runs a picture shows.
func timelines(runs int) string {
	if runs == 1 {
		return "Timeline"
	}
	return []string{2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine"}[runs] + " timelines, the harm first"
}

// forms are those of each picture, by how its file ends.
var forms = map[string]svg.Layout{".svg": svg.Wide, "-narrow.svg": svg.Narrow}

// allScenarios are all that gcsim brings with it, in order: those of the first lock service
// first.
func allScenarios(t *testing.T) []*scenario.Scenario {
	t.Helper()
	var files []string
	for _, s := range all.List {
		of, err := filepath.Glob("scenarios/" + s.Name + "/*.yaml")
		if err != nil || len(of) == 0 {
			t.Fatalf("%s has no scenarios (%v)", s.Name, err)
		}
		files = append(files, of...)
	}
	var list []*scenario.Scenario
	for _, file := range files {
		s, err := language.Parse(file, strings.TrimSuffix(filepath.Base(file), ".yaml"), []byte(read(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// chapters is the folder of a scenario's chapter.
func chapters(s *scenario.Scenario) string { return all.Chapters(s.Variants[0].World.Service) }

// inDocs are the files of docs/ and its folders that a pattern names.
func inDocs(t *testing.T, pattern string) (files []string) {
	t.Helper()
	for _, folder := range []string{"docs/", "docs/*/"} {
		some, err := filepath.Glob(folder + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	return files
}

// TestChapters: each scenario has its chapter, which says how to run it, shows
// it, explains all its variants and names its sources.
func TestChapters(t *testing.T) {
	for _, s := range allScenarios(t) {
		folder := chapters(s)
		index := read(t, folder+"/README.md")
		t.Run(s.Name, func(t *testing.T) {
			number, short, _ := strings.Cut(s.Name, "-")
			file := folder + "/" + s.Name + ".md"
			text := read(t, file)
			if !strings.Contains(index, "]("+s.Name+".md)") {
				t.Errorf("%s/README.md has no link to %s", folder, file)
			}
			for what, want := range map[string]string{
				"a title with its number":   `\A# ` + strings.TrimLeft(number, "0") + `\. \S`,
				"its command":               `(?m)^    go run \./cmd/gcsim run ` + short + `$`,
				"its picture, in words":     fmt.Sprintf(aPicture, "pictures/"+s.Name, timelines(len(s.Variants))),
				"what happens":              `(?m)^## What happens`,
				"why":                       `(?m)^## Why`,
				"what helps":                `(?m)^## What helps`,
				"where to look":             `(?m)^## In your code`,
				"a source that can be read": `(?s)\n## Sources\n.*\]\(https://`,
			} {
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("%s lacks %s: want a match for %s", file, what, want)
				}
			}
			for _, v := range s.Variants {
				if !strings.Contains(text, "`"+v.Name+"`") {
					t.Errorf("%s does not speak of the variant `%s`", file, v.Name)
				}
			}
		})
	}
}

// TestReadmeShowsHarmFirst: README begins with what happens without tokens, and then
// shows what helps.
func TestReadmeShowsHarmFirst(t *testing.T) {
	text, last := read(t, "README.md"), 0
	for _, file := range []string{"docs/unfenced", "docs/fenced"} {
		at := regexp.MustCompile(fmt.Sprintf(aPicture, file, timelines(1))).FindStringIndex(text)
		if at == nil || at[0] < last {
			t.Fatalf("README.md does not show %s in its place", file)
		}
		last = at[1]
	}
	if strings.Contains(text[:last], "\n## ") {
		t.Error("README.md has the pictures below its first headings")
	}
}

// TestNothingWithoutScenario: no chapter, and no picture, is about what is gone.
func TestNothingWithoutScenario(t *testing.T) {
	var known []string
	for _, s := range allScenarios(t) {
		folder := chapters(s)
		known = append(known, folder+"/"+s.Name, folder+"/pictures/"+s.Name)
	}
	for _, file := range append(inDocs(t, "[0-9]*.md"), inDocs(t, "pictures/*")...) {
		if !slices.Contains(known, strings.TrimSuffix(strings.TrimSuffix(file, filepath.Ext(file)), "-narrow")) {
			t.Errorf("%s has no scenario: want one of %s", file, strings.Join(known, ", "))
		}
	}
}

// TestPicturesAreCurrent: each picture has the form that it would have if it were
// drawn now, of the scenario as it is now: the harm first.
func TestPicturesAreCurrent(t *testing.T) {
	known := knownLegend(t)
	check := func(file string, l svg.Layout, s *scenario.Scenario, variants ...*scenario.Variant) {
		t.Run(file, func(t *testing.T) {
			var fresh strings.Builder
			if err := svg.Write(&fresh, l, drawings(s, variants)...); err != nil {
				t.Fatal(err)
			}
			text := read(t, file)
			if got, want := head(text), head(fresh.String()); got != want {
				t.Errorf("%s begins otherwise than pictures do now: run make docs\n got %s\nwant %s", file, got, want)
			}
			got := parse(t, file, text)
			if got, want := got.form(), parse(t, "a fresh picture", fresh.String()).form(); got != want {
				t.Errorf("%s is not of the scenario as it is now: run make docs\n got\n%s\nwant\n%s", file, got, want)
			}
			for entry, sample := range got.legend() {
				if want := known[entry]; sample == "" || sample != want {
					t.Errorf("%s explains %q by %q, pictures now do by %q: run make docs", file, entry, sample, want)
				}
			}
		})
	}
	scenarios := allScenarios(t)
	main := scenarios[0]
	for end, l := range forms {
		for _, v := range main.HarmFirst() { // README's
			check("docs/"+v.Name+end, l, main, v)
		}
		for _, s := range scenarios {
			check(chapters(s)+"/pictures/"+s.Name+end, l, s, s.HarmFirst()...)
		}
	}
}

// drawings are runs of which nothing is known but what the scenario says.
func drawings(s *scenario.Scenario, variants []*scenario.Variant) (all []story.Drawing) {
	for _, v := range variants {
		lanes := append([]string{v.World.Service}, s.Clients...)
		all = append(all, story.Drawing{
			Events: []history.Event{{Kind: history.KindRun, Run: &history.Run{
				Service: v.World.Service, Scenario: s.Name, Title: s.Title, Variant: v.Name, About: v.About, Control: v.Control,
				Fencing: v.World.Storage.Fencing != scenario.FencingOff,
				Lanes:   append(lanes, history.LaneStorage), Expect: v.Expect,
			}}},
			Outcome: story.Outcome{Name: v.Expect.Verdict, OK: true},
		})
	}
	return all
}

// knownLegend is how the report's own examples explain signs.
func knownLegend(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("internal/report/testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples of histories (%v)", err)
	}
	histories := [][]history.Event{foldedHistory()}
	for _, file := range files {
		events, err := history.Read(strings.NewReader(read(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		histories = append(histories, events)
	}
	known := make(map[string]string)
	for _, events := range histories {
		var b strings.Builder
		if err := svg.Write(&b, svg.Wide, story.Drawing{Events: events, Outcome: story.Outcome{Violations: verdict.Judge(events).Violations}}); err != nil {
			t.Fatal(err)
		}
		maps.Copy(known, parse(t, "an example's picture", b.String()).legend())
	}
	return known
}

// foldedHistory is a history of which a picture leaves steps out.
func foldedHistory() []history.Event {
	events := []history.Event{{Kind: history.KindRun, Run: &history.Run{Lanes: []string{"client1", history.LaneStorage}}}}
	for i := range 100 {
		events = append(events, history.Event{
			At: time.Duration(i) * time.Millisecond, Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpWrite,
			Client: "client1", Request: fmt.Sprint(i), Key: "key0", Value: "x", Token: 2, Mark: 2,
		})
	}
	return events
}

var (
	size  = regexp.MustCompile(`(width|height)="\d+"|viewBox="[^"]*"`)
	desc  = regexp.MustCompile(`(?s)<desc ([^>]*)>.*?</desc>`)
	seed  = regexp.MustCompile(` \(seed \d+\)`)
	tag   = regexp.MustCompile(`<[^>]*>`)
	place = regexp.MustCompile(`^M(-?\d+) (-?\d+)`)
)

// head is what a picture has before its runs, without what each run makes anew.
func head(svg string) string {
	before, _, _ := strings.Cut(svg, "<g")
	before, card, _ := strings.Cut(before, "</defs>")
	return desc.ReplaceAllString(size.ReplaceAllString(before, "$1"), "<desc $1>") + "</defs>" + size.ReplaceAllString(card, "$1")
}

// picture is an SVG: its runs, one below the other.
type picture struct {
	Panels []panel `xml:"g"`
}

type panel struct {
	Shapes []shape `xml:",any"`
}

type shape struct {
	XMLName xml.Name
	Class   string `xml:"class,attr"`
	X       int    `xml:"x,attr"`
	X1      int    `xml:"x1,attr"`
	CX      int    `xml:"cx,attr"`
	Y       int    `xml:"y,attr"`
	Y1      int    `xml:"y1,attr"`
	CY      int    `xml:"cy,attr"`
	D       string `xml:"d,attr"`
	Inner   string `xml:",innerxml"`
}

func parse(t *testing.T, name, text string) (p picture) {
	t.Helper()
	if err := xml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%s is no well-formed XML: %v", name, err)
	}
	return p
}

// text is what people read.
func (s shape) text() string { return html.UnescapeString(tag.ReplaceAllString(s.Inner, "")) }

// start is where a shape begins.
func (s shape) start() (x, y int) {
	if _, err := fmt.Sscanf(place.FindString(s.D), "M%d %d", &x, &y); err == nil {
		return x, y
	}
	return s.X + s.X1 + s.CX, s.Y + s.Y1 + s.CY
}

// form is what a picture says of each run however it went: titles, variants,
// lanes and verdicts.
func (p picture) form() string {
	var b strings.Builder
	for _, panel := range p.Panels {
		var title, about, lanes, verdict []string
		for _, s := range panel.Shapes {
			class, _, _ := strings.Cut(s.Class, " ")
			switch {
			case class == "title":
				title = append(title, s.text())
			case s.Class == "text" && len(lanes) == 0:
				about = append(about, s.text())
			case class == "head" && !strings.HasSuffix(s.Class, " again"):
				lanes = append(lanes, s.text())
			case class == "verdict" || strings.HasPrefix(class, "v-"):
				verdict = append(verdict, class+" "+s.text())
			}
		}
		fmt.Fprintf(&b, "title: %s\nvariant: %s\nlanes: %s\nverdict: %s\n", strings.Join(title, " "),
			seed.ReplaceAllString(strings.Join(about, " "), ""), strings.Join(lanes, ", "), strings.Join(verdict, ", "))
	}
	return b.String()
}

// legend is how a picture explains its signs: for each explanation what is drawn
// before it.
func (p picture) legend() map[string]string {
	legend := make(map[string]string)
	for _, panel := range p.Panels {
		for _, l := range panel.Shapes {
			if l.Class != "legend" {
				continue
			}
			var sample []string
			for _, s := range panel.Shapes {
				x, y := s.start()
				if s.XMLName.Local != "text" && l.X-31 < x && x < l.X && l.Y-16 < y && y < l.Y+4 {
					sample = append(sample, s.XMLName.Local+"."+s.Class)
				}
			}
			legend[l.text()] = strings.Join(sample, " ")
		}
	}
	return legend
}

// TestFormSeesWhatChanges: what the test of the pictures looks at is there.
func TestFormSeesWhatChanges(t *testing.T) {
	s := allScenarios(t)[0]
	var b strings.Builder
	if err := svg.Write(&b, svg.Wide, drawings(s, s.HarmFirst())...); err != nil {
		t.Fatal(err)
	}
	got := parse(t, "a fresh picture", b.String()).form()
	want := "title: " + s.Title + `
variant: unfenced (the control) is CORRUPTED: the storage checks no tokens
lanes: lock service, client1, client2, storage
verdict: v-corrupted , verdict CORRUPTED, as expected of the control
title: 
variant: fenced is SAFE: the storage checks tokens
lanes: lock service, client1, client2, storage
verdict: v-safe , verdict SAFE, as expected
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if begin := head(b.String()); !strings.Contains(begin, "<style>") || !strings.Contains(begin, s.Title) || strings.Contains(begin, "Verdict") {
		t.Errorf("the beginning of a picture lacks style or title, or has the story: %s", begin)
	}
}

// TestLegendsAreKnown: the examples of histories have the signs that scenarios
// show, so that a new sign is noticed here and not only in a picture.
func TestLegendsAreKnown(t *testing.T) {
	known := knownLegend(t)
	for _, entry := range []string{"holds the lock", "stopped", "message", "refused", "does harm", "over", "at the end", "steps left out"} {
		if known[entry] == "" {
			t.Errorf("no example of a history shows %q; there are %v", entry, slices.Sorted(maps.Keys(known)))
		}
	}
}

// serviceNames are those of the lock services, which name all their scenarios.
func serviceNames() (names []string) {
	for _, s := range all.List {
		names = append(names, s.Name)
	}
	return names
}

// TestCommandsNameScenarios: what the documents tell to run or to explain is there, as a scenario
// or as a file.
func TestCommandsNameScenarios(t *testing.T) {
	known := append(serviceNames(), "my", "my.yaml", "NAME", "FILE", "01-gc-pause")
	for _, s := range allScenarios(t) {
		number, short, _ := strings.Cut(s.Name, "-")
		known = append(known, short, s.Variants[0].World.Service+"/"+strings.TrimPrefix(number, "0"))
		for _, v := range s.Variants {
			known = append(known, short+"/"+v.Name)
		}
	}
	command := regexp.MustCompile(`gcsim (?:run|explain)(?: --repeat 20)? ([A-Za-z0-9][\w./-]*)`)
	for _, doc := range append(inDocs(t, "*.md"), "README.md", "CONTRIBUTING.md") {
		for _, m := range command.FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(m[1]); err == nil { // a file of the repository
				continue
			}
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s: %q: no scenario is called %s", doc, m[0], m[1])
			}
		}
	}
}
