package main

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/site/stage"
)

// site is what is made of a clone's documents.
type site struct {
	clone fs.FS
	pages map[string]*page // by the document's file
	parts []*part
}

// page is a document, as the site shows it.
type page struct {
	File           string // the document's, in the repository
	Title          string
	Part           *part
	Body           template.HTML
	Before, Behind *page           // in its part; nil: none
	Plays          []stage.Variant // of the chapter's scenario, on the stage
	source         string
	sections       []section
}

// part is pages that belong together, in the order in which they are read.
type part struct {
	Title string
	Pages []*page
}

// The files of each part that has no chapters. README.md is the first of a directory's files.
var (
	beginFiles   = []string{"README.md", "docs/tour.md", "docs/get.md", "docs/serve.md"}
	lockFiles    = []string{"docs/locks.md", "docs/libraries.md", "docs/libraries-go.md", "docs/libraries-java.md", "docs/libraries-node.md", "docs/libraries-python.md", "docs/libraries-rust.md", "docs/library-issues.md", "docs/java.md", "docs/java-interop.md", "docs/coverage.md", "docs/jepsen.md"}
	protectFiles = []string{"docs/library.md", "docs/rollout.md", "docs/leader.md", "docs/observe.md", "docs/scale.md", "docs/operations.md", "docs/protocol.md", "docs/performance.md"}
	testFiles    = []string{"docs/your-storage.md", "docs/your-client.md", "docs/your-lock-service.md", "docs/laws.md", "docs/agent.md"}
)

// chaptersTitle begins the title of a part that has the chapters of a lock service.
const chaptersTitle = "Pitfalls: "

var (
	titleLine = regexp.MustCompile(`(?m)^# (.+)$`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
)

// read reads the documents of a clone, and puts them into parts.
func read(clone fs.FS) *site {
	s := &site{clone: clone, pages: make(map[string]*page)}
	s.add("README.md")
	fail.If(fs.WalkDir(clone, "docs", func(file string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".md" && !strings.Contains(file, "/exercises/") {
			s.add(file)
		}
		return err
	}))
	s.pages[docs.Slides] = &page{File: docs.Slides, Title: "Slides"}
	s.part("Begin here", beginFiles...)
	for _, service := range all.List {
		folder := all.Chapters(service.Name)
		chapters := fail.Must(fs.Glob(clone, folder+"/[0-9]*.md"))
		files := append(append([]string{folder + "/README.md"}, chapters...), folder+"/recipes.md")
		for _, chapter := range chapters {
			p := s.pages[chapter]
			p.Plays = fail.Must(stage.Variants(p.Scenario()))
		}
		title := strings.Replace(s.pages[folder+"/README.md"].Title, "The pitfalls of ", chaptersTitle, 1)
		s.part(title, slices.DeleteFunc(files, func(file string) bool { return s.pages[file] == nil })...)
	}
	lessons := fail.Must(fs.Glob(clone, "docs/course/lesson-*.md"))
	s.part("The course", append(append([]string{"docs/course/README.md"}, lessons...), "docs/course/glossary.md", docs.Slides, "docs/course/teacher.md", "docs/course/notes.md")...)
	s.part("Which lock?", lockFiles...)
	s.part("Protect a service", protectFiles...)
	s.part("Test yours", testFiles...)
	s.part("Stories", s.rest()...)
	return s
}

// add reads a document.
func (s *site) add(file string) {
	text := string(fail.Must(fs.ReadFile(s.clone, file)))
	text, _, _ = strings.Cut(text, docs.WayMark) // the site has ways of its own
	title := titleLine.FindStringSubmatch(text)
	if title == nil {
		fail.If(fmt.Errorf("%s: want a line with a title, such as # The pause", file))
	}
	s.pages[file] = &page{File: file, Title: strings.ReplaceAll(title[1], "`", ""), source: comment.ReplaceAllString(text, "")}
}

// part puts documents into a part of their own.
func (s *site) part(title string, files ...string) {
	in := &part{Title: title}
	for _, file := range files {
		p := s.pages[file]
		if p == nil {
			fail.If(fmt.Errorf("there is no %s: the site has it in its part %q", file, title))
		}
		p.Part = in
		if n := len(in.Pages); n > 0 {
			p.Before, in.Pages[n-1].Behind = in.Pages[n-1], p
		}
		in.Pages = append(in.Pages, p)
	}
	s.parts = append(s.parts, in)
}

// rest are the documents that are in no part yet, by their titles.
func (s *site) rest() (files []string) {
	for file, p := range s.pages {
		if p.Part == nil {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(s.pages[a].Title, s.pages[b].Title) })
	return files
}

// has reports whether the site has a file of the repository.
func (s *site) has(file string) bool {
	return s.pages[file] != nil || strings.HasPrefix(file, "docs/") && path.Ext(file) == ".svg"
}

// place is where the site has a file of the repository. A README is what a directory shows; the site's own first page
// is another one.
func place(file string) string {
	switch {
	case file == "README.md":
		return "readme.html"
	case path.Base(file) == "README.md":
		return path.Dir(file) + "/index.html"
	case path.Ext(file) == ".md":
		return strings.TrimSuffix(file, ".md") + ".html"
	}
	return file
}

// Scenario is what a chapter's scenario is called, as the chapter is.
func (p *page) Scenario() string { return strings.TrimSuffix(path.Base(p.File), ".md") }

// To is the way from a page to where the site has a file.
func (p *page) To(file string) string {
	return filepath.ToSlash(fail.Must(filepath.Rel(path.Dir(place(p.File)), place(file))))
}
