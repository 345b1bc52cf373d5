package main

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/learn"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

//go:embed slides.html.tmpl
var slidesSource string

var slidesTemplate = template.Must(template.New("slides").Parse(slidesSource))

// slide is what the slides of a lesson say: its question, its commands, their pictures, and what comes of it.
type slide struct {
	Number          int
	Title           string
	Question, After []template.HTML // paragraphs
	Commands        []string
	Views           []view
	Comes           []answer
	AskNote         template.HTML
	RunNote         template.HTML
}

// answer is a paragraph of what comes of a question. Each has a slide.
type answer struct{ Text, Note template.HTML }

// view is one run of a picture, in the picture's forms.
type view struct {
	Of    string
	Forms []crop
	harm  bool
	Note  template.HTML
}

// crop is the part of a picture that shows one run. The form is a class.
type crop struct {
	Form, File               string
	Width, Height, Top, Tall int
	verdict                  string
}

// slides are the slides of the course: of its lessons, and of the pictures of the chapters that they run.
func slides(repository fs.FS, list []*scenario.Scenario) string {
	var of []slide
	notes := string(fail.Must(fs.ReadFile(repository, notesFile)))
	for _, l := range fail.Must(learn.Lessons()) {
		m := lessonParts.FindSubmatch(fail.Must(fs.ReadFile(repository, l.Page())))
		if m == nil {
			fail.If(fmt.Errorf("%s: want a question below Predict, a command, and what comes of it", l.Page()))
		}
		s := slide{Number: l.Number, Title: l.Title, Question: paragraphs(m[1])}
		for _, text := range paragraphs(m[4]) {
			s.Comes = append(s.Comes, answer{Text: text})
		}
		if len(m[3]) > 0 {
			s.After = paragraphs(m[3])
		}
		for line := range strings.Lines(string(m[2])) {
			s.Commands = append(s.Commands, strings.TrimSpace(line))
		}
		s.Commands = slices.Compact(s.Commands)
		for _, arg := range strings.Fields(s.Commands[0]) {
			name, variant, _ := strings.Cut(arg, "/")
			i := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return strings.HasSuffix(s.Name, "-"+name) })
			if i >= 0 {
				s.Views = views(repository, list[i], variant)
			}
		}
		s.annotate(notes)
		of = append(of, s)
	}
	var b strings.Builder
	fail.If(slidesTemplate.Execute(&b, of))
	return b.String()
}

// notesFile has what to say to each slide.
const notesFile = "docs/course/notes.md"

// annotate gives each slide of a lesson its note.
func (s *slide) annotate(notes string) {
	at := []*template.HTML{&s.AskNote, &s.RunNote}
	for i := range s.Views {
		at = append(at, &s.Views[i].Note)
	}
	for i := range s.Comes {
		at = append(at, &s.Comes[i].Note)
	}
	_, own, _ := strings.Cut(notes, fmt.Sprintf("\n## %d. %s\n", s.Number, s.Title))
	own, _, _ = strings.Cut(own, "\n## ")
	list := aNote.FindAllStringSubmatch(own, -1)
	if len(list) != len(at) {
		fail.If(fmt.Errorf("%s: lesson %d, %s, has %d slides and %d notes: want a note for each", notesFile, s.Number, s.Title, len(at), len(list)))
	}
	for i, note := range list {
		*at[i] = paragraphs([]byte(note[1]))[0]
	}
}

var aNote = regexp.MustCompile(`(?m)^\d+\. (.+)$`)

// views are those of the picture of a scenario, which has the harm first; of a variant that does harm, the harm alone.
func views(repository fs.FS, of *scenario.Scenario, variant string) (list []view) {
	file := path.Join(all.Chapters(of.Variants[0].World.Service), "pictures", of.Name)
	wide, narrow := crops(repository, "wide", file+".svg"), crops(repository, "narrow", file+"-narrow.svg")
	for i := range wide {
		list = append(list, view{Of: of.Title, Forms: []crop{wide[i], narrow[i]}, harm: wide[i].verdict != "safe"})
	}
	if i := slices.IndexFunc(of.Variants, func(v scenario.Variant) bool { return v.Name == variant }); i >= 0 && of.Variants[i].Control {
		list = slices.DeleteFunc(list, func(v view) bool { return !v.harm })
	}
	return list
}

// crops are the runs of a picture.
func crops(repository fs.FS, form, file string) (list []crop) {
	source := string(fail.Must(fs.ReadFile(repository, file)))
	size := svgSize.FindStringSubmatch(source)
	verdicts := svgVerdict.FindAllStringSubmatch(source, -1)
	if size == nil || len(verdicts) == 0 {
		fail.If(fmt.Errorf("%s: want its size, and the box of a verdict below each run", file))
	}
	number := func(digits string) int { return fail.Must(strconv.Atoi(digits)) }
	top := 0
	for _, v := range verdicts {
		end := number(v[2]) + number(v[3]) + aroundRun
		list = append(list, crop{
			Form: form, File: fail.Must(filepath.Rel(path.Dir(docs.Slides), file)),
			Width: number(size[1]), Height: number(size[2]), Top: top, Tall: end - top, verdict: v[1],
		})
		top = end
	}
	return list
}

const aroundRun = 12 // below the verdict of a run

var (
	svgSize    = regexp.MustCompile(`^<svg [^>]*width="(\d+)" height="(\d+)"`)
	svgVerdict = regexp.MustCompile(`<rect class="v-([a-z]+)" x="\d+" y="(\d+)" width="\d+" height="(\d+)"`)
)

var lessonParts = regexp.MustCompile(`(?s)\n## Predict\n\n(.*?)\n\nWrite your answer down\. Then run it:\n\n((?:    [^\n]+\n)+)\n(?:([^<].*?)\n\n)?<details>\n<summary>What comes of it</summary>\n\n(.*?)\n\n</details>`)

// The marks of Markdown in a paragraph of a lesson. A link is its text.
var marks = []struct {
	of *regexp.Regexp
	as string
}{
	{regexp.MustCompile("`([^`]+)`"), "<code>$1</code>"},
	{regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`), "$1"},
	{regexp.MustCompile(`\*([^*]+)\*`), "<em>$1</em>"},
}

func paragraphs(text []byte) (list []template.HTML) {
	for p := range strings.SplitSeq(string(text), "\n\n") {
		p = html.EscapeString(p)
		for _, m := range marks {
			p = m.of.ReplaceAllString(p, m.as)
		}
		list = append(list, template.HTML(p))
	}
	return list
}

// withWays are the texts of a service's chapters, by their files, with the way from each to
// the chapters beside it, and to the service's table.
func withWays(repository fs.FS, service string, list []*scenario.Scenario) map[string]string {
	folder := all.Chapters(service)
	var files, texts, numbers []string
	for _, s := range list {
		if s.Variants[0].World.Service != service {
			continue
		}
		file := s.Name + ".md"
		text := fail.Must(fs.ReadFile(repository, path.Join(folder, file)))
		number := chapterNumber.FindSubmatch(text)
		if number == nil {
			fail.If(fmt.Errorf("%s/%s: want a title with a number", folder, file))
		}
		own, _, _ := strings.Cut(string(text), docs.WayMark)
		files, texts, numbers = append(files, file), append(texts, own), append(numbers, string(number[1]))
	}
	chapters := make(map[string]string)
	for i := range files {
		var way []string
		if i > 0 {
			way = append(way, fmt.Sprintf("[← %s](%s)", numbers[i-1], files[i-1]))
		}
		way = append(way, "[all pitfalls](README.md)")
		if i+1 < len(files) {
			way = append(way, fmt.Sprintf("[%s →](%s)", numbers[i+1], files[i+1]))
		}
		chapters[path.Join(folder, files[i])] = texts[i] + docs.WayMark + "\n" + strings.Join(way, ", ") + "\n"
	}
	return chapters
}

var chapterNumber = regexp.MustCompile(`\A# (\d+)\. .+\n`)
