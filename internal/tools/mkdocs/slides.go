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
	"strings"

	"github.com/fencelab/fencelab/internal/learn"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

const slidesFile = "docs/course/slides.html"

//go:embed slides.html.tmpl
var slidesSource string

var slidesTemplate = template.Must(template.New("slides").Parse(slidesSource))

// slide is a lesson's question, and what comes of it.
type slide struct {
	Number             int
	Title              string
	Question, Comes    []template.HTML // paragraphs
	Command            string
	Picture, PictureOf string // of the command's scenario; "" where the command runs none
}

// slides are the slides of the course: of its lessons, and of the pictures of the chapters that they run.
func slides(repository fs.FS, list []*scenario.Scenario) string {
	var of []slide
	for _, l := range fail.Must(learn.Lessons()) {
		m := lessonParts.FindSubmatch(fail.Must(fs.ReadFile(repository, l.Page())))
		if m == nil {
			fail.If(fmt.Errorf("%s: want a question below Predict, a command, and what comes of it", l.Page()))
		}
		s := slide{Number: l.Number, Title: l.Title, Question: paragraphs(m[1]), Command: string(m[2]), Comes: paragraphs(m[3])}
		for _, arg := range strings.Fields(s.Command) {
			name, _, _ := strings.Cut(arg, "/") // of a variant
			i := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return strings.HasSuffix(s.Name, "-"+name) })
			if i >= 0 {
				folder := fail.Must(filepath.Rel("docs/course", all.Chapters(list[i].Variants[0].World.Service)))
				s.Picture, s.PictureOf = path.Join(folder, "pictures", list[i].Name+".svg"), list[i].Title
			}
		}
		of = append(of, s)
	}
	var b strings.Builder
	fail.If(slidesTemplate.Execute(&b, of))
	return b.String()
}

var lessonParts = regexp.MustCompile(`(?s)\n## Predict\n\n(.*?)\n\nWrite your answer down\. Then run it:\n\n    (.*?)\n\n<details>\n<summary>What comes of it</summary>\n\n(.*?)\n\n</details>`)

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

// wayMark begins the last lines of a chapter, which say where to go from there.
const wayMark = "\n<!-- By make docs: -->\n"

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
		own, _, _ := strings.Cut(string(text), wayMark)
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
		chapters[path.Join(folder, files[i])] = texts[i] + wayMark + "\n" + strings.Join(way, ", ") + "\n"
	}
	return chapters
}

var chapterNumber = regexp.MustCompile(`\A# (\d+)\. .+\n`)
