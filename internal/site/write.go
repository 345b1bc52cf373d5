package main

import (
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/site/stage"
)

// templates are those of the pages. The first page and that of the search have files of their own.
//
//go:embed *.html.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "*.html.tmpl"))

//go:embed web
var web embed.FS

// policy allows a page what the site itself has, and nothing that stands in the page's own text.
const policy = "default-src 'self'; base-uri 'none'; object-src 'none'"

// view is what a template shows.
type view struct {
	*page
	Parts  []*part
	Policy string
	Home   string // where everybody finds the repository
}

// Chapters are the parts that have chapters, one for each lock service.
func (v view) Chapters() []*part {
	return slices.DeleteFunc(slices.Clone(v.Parts), func(p *part) bool { return !strings.HasPrefix(p.Title, chaptersTitle) })
}

// write writes the site into a directory. The model is the program of the stage, for browsers.
func write(s *site, model []byte, dir string) {
	var found []section
	for _, part := range s.parts {
		for _, p := range part.Pages {
			if p.File == docs.Slides {
				continue
			}
			s.render(p)
			s.play(p)
			s.show("page.html.tmpl", p, dir)
			for _, section := range p.sections {
				section.Page, section.Part, section.Title = place(p.File), part.Title, p.Title
				found = append(found, section)
			}
		}
	}
	s.show("index.html.tmpl", &page{File: "index.html", Title: "A lock cannot stop a client that was paused"}, dir)
	s.show("search.html.tmpl", &page{File: "search.html", Title: "Search"}, dir)
	// A script, as a page that was opened from a disk may not fetch a file.
	save(dir, "search-index.js", append([]byte("const sections = "), fail.Must(json.Marshal(found))...))
	own := fail.Must(fs.Sub(web, "web"))
	for _, file := range fail.Must(fs.Glob(own, "*")) {
		save(dir, file, fail.Must(fs.ReadFile(own, file)))
	}
	s.copyFiles(dir)
	fail.If(stage.Write(filepath.Join(dir, "stage"), model))
}

// copyFiles copies what documents show: pictures, and the slides.
func (s *site) copyFiles(dir string) {
	fail.If(fs.WalkDir(s.clone, "docs", func(file string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".svg" {
			save(dir, file, fail.Must(fs.ReadFile(s.clone, file)))
		}
		return err
	}))
	for _, ext := range []string{".html", ".css", ".js"} {
		file := strings.TrimSuffix(docs.Slides, ".html") + ext
		text := string(fail.Must(fs.ReadFile(s.clone, file)))
		save(dir, file, []byte(strings.ReplaceAll(text, `href="README.md"`, `href="index.html"`)))
	}
}

// play puts links to the stage below a chapter's picture.
func (s *site) play(p *page) {
	if len(p.Plays) == 0 {
		return
	}
	const picture = "</picture>"
	var links strings.Builder
	fail.If(templates.ExecuteTemplate(&links, "plays", p))
	p.Body = template.HTML(strings.Replace(string(p.Body), picture, picture+links.String(), 1))
}

func (s *site) show(by string, p *page, dir string) {
	var text strings.Builder
	fail.If(templates.ExecuteTemplate(&text, by, view{p, s.parts, policy, strings.TrimSuffix(docs.Published, "/blob/main/")}))
	save(dir, place(p.File), []byte(text.String()))
}

func save(dir, file string, text []byte) {
	at := filepath.Join(dir, filepath.FromSlash(file))
	fail.If(os.MkdirAll(filepath.Dir(at), 0o777))
	fail.If(os.WriteFile(at, text, 0o666))
}
