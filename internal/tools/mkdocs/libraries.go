package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"text/template"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/platform/fail"
)

// library is one that a page of a language has, as TestCells of the language wrote it.
type library struct {
	Language string
	Title    string // with its version
	Page     string // where its section is, from docs
	facts    map[string]string
}

// libraryColumns are what the table of all libraries has of each, and the lines of a page that say so.
var libraryColumns = []struct{ Title, line string }{
	{"token", "token"},
	{"fair", "fair"},
	{"waits", "a waiter"},
	{"gives up", "a waiter gives up"},
	{"renewed", "renewed"},
	{"told, paused", "told of a loss, after a pause"},
	{"told, cut off", "told of a loss, while it is cut off"},
	{"late unlock", "late unlock, another one has the lock"},
	{"lost answer", "an answer that is lost"},
	{"late answer", "an answer that comes after the lease"},
	{"requests, round trips", "requests, round trips"},
	{"hand-over", "hand-over"},
}

// Cells are the library's, in the order of the columns. A dash: the library has no such line.
func (l library) Cells() (list []string) {
	for _, column := range libraryColumns {
		cell := l.facts[column.line]
		if cell == "" {
			cell = "–"
		}
		list = append(list, cell)
	}
	return list
}

// libraryPages are the pages of the languages.
const libraryPages = "docs/libraries-*.md"

var (
	pageTitle = regexp.MustCompile(`(?m)^# Libraries in (.+)$`)
	aLibrary  = regexp.MustCompile(`(?ms)^### ([^\n]+)\n(.*?)\n(?:#|\z)`)
	aFact     = regexp.MustCompile(`(?m)^\| ([^|]+) \| (.+) \|$`)
)

// readLibraries reads the libraries of all pages below root, the repository's.
func readLibraries(root fs.FS) (list []library) {
	for _, file := range fail.Must(fs.Glob(root, libraryPages)) {
		text := string(fail.Must(fs.ReadFile(root, file)))
		title := pageTitle.FindStringSubmatch(text)
		if title == nil {
			fail.If(fmt.Errorf("%s has no title that names a language", file))
		}
		before := len(list)
		for rest := text; ; {
			at := aLibrary.FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			heading, section := rest[at[2]:at[3]], rest[at[4]:at[5]]
			rest = rest[at[5]:]
			l := library{title[1], heading, path.Base(file) + "#" + docs.Anchor(heading), make(map[string]string)}
			for _, fact := range aFact.FindAllStringSubmatch(section, -1) {
				l.facts[fact[1]] = fact[2]
			}
			if len(l.facts) > 0 {
				list = append(list, l)
			}
		}
		if len(list) == before {
			fail.If(fmt.Errorf("%s has no library: TestCells of its language writes it, with -update", file))
		}
	}
	for _, column := range libraryColumns {
		if !slices.ContainsFunc(list, func(l library) bool { return l.facts[column.line] != "" }) {
			fail.If(fmt.Errorf("no library has the line %q", column.line))
		}
	}
	return list
}

// libraries is docs/libraries.md: what people wrote of it, with the libraries of all languages as one table.
func libraries(root fs.FS) string {
	return filled(sources, "libraries.md.tmpl", template.FuncMap{
		"libraries": func() []library { return readLibraries(root) },
		"columns":   func() any { return libraryColumns },
	})
}
