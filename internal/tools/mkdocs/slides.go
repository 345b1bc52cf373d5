package main

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/learn"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

const slidesFile = "docs/course/slides.html"

//go:embed slides.html.tmpl
var slidesSource string

// slide is a lesson's question, and what comes of it.
type slide struct {
	Number             int
	Title              string
	Question, Comes    []template.HTML // paragraphs
	Command            string
	Picture, PictureOf string // of the command's scenario; "" where the command runs none
}

// slides are those of the course: of the lessons, and of the pictures of the chapters that they
// run.
func slides(repository fs.FS, list []*scenario.Scenario) (string, error) {
	lessons, err := learn.Lessons()
	if err != nil {
		return "", err
	}
	var of []slide
	for _, l := range lessons {
		text, err := fs.ReadFile(repository, l.Page())
		if err != nil {
			return "", err
		}
		m := lessonParts.FindSubmatch(text)
		if m == nil {
			return "", fmt.Errorf("%s: want a question below Predict, a command, and what comes of it", l.Page())
		}
		s := slide{Number: l.Number, Title: l.Title, Question: paragraphs(m[1]), Command: string(m[2]), Comes: paragraphs(m[3])}
		for _, arg := range strings.Fields(s.Command) {
			i := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return strings.HasSuffix(s.Name, "-"+arg) })
			if i >= 0 {
				folder, err := relative(all.Chapters(list[i].Variants[0].World.Service))
				if err != nil {
					return "", err
				}
				s.Picture, s.PictureOf = path.Join(folder, "pictures", list[i].Name+".svg"), list[i].Title
			}
		}
		of = append(of, s)
	}
	t, err := template.New("slides.html.tmpl").Parse(slidesSource)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, of)
	return b.String(), err
}

var lessonParts = regexp.MustCompile(`(?s)\n## Predict\n\n(.*?)\n\nWrite your answer down\. Then run it:\n\n    (.*?)\n\n<details>\n<summary>What comes of it</summary>\n\n(.*?)\n\n</details>`)

// relative is a folder of documents as the course names it.
func relative(folder string) (string, error) {
	below, ok := strings.CutPrefix(folder+"/", "docs/")
	if !ok {
		return "", fmt.Errorf("%s is not below docs", folder)
	}
	return "../" + below, nil
}

// The marks of Markdown in a paragraph of a lesson. A link is its text.
var marks = []struct {
	of *regexp.Regexp
	as string
}{
	{regexp.MustCompile("`([^`]+)`"), "<code>$1</code>"},
	{regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`), "$1"},
	{regexp.MustCompile(`\*([^*]+)\*`), "<em>$1</em>"},
}

// paragraphs are those of a text in Markdown.
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
