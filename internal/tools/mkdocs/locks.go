package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// recipes are the table of a service, as its TestTable wrote it: what each of its recipes
// does.
type recipes struct {
	service string
	columns []string
	cells   []map[string]string // of each recipe, by column
	says    map[string]string   // what each column means
}

var (
	aRow    = regexp.MustCompile(`(?m)^\| (.+) \|$`)
	aColumn = regexp.MustCompile(`(?m)^- \*(.+)\*: (.+)$`)
)

// readRecipes reads the table of a service below root, the repository's.
func readRecipes(root fs.FS, service string) (recipes, error) {
	file := path.Join(all.Chapters(service), "recipes.md")
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return recipes{}, err
	}
	var rows [][]string
	for _, row := range aRow.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, strings.Split(row[1], " | "))
	}
	if len(rows) < 3 {
		return recipes{}, fmt.Errorf("%s has no table of recipes: run TestTable of internal/service/%s with -update", file, service)
	}
	r := recipes{service: service, columns: rows[0], says: make(map[string]string)}
	for _, row := range rows[2:] { // below the names of the columns, and the line beneath them
		if len(row) != len(r.columns) {
			return recipes{}, fmt.Errorf("%s: the row of %s has %d cells, want %d", file, row[0], len(row), len(r.columns))
		}
		cells := make(map[string]string)
		for i, column := range r.columns {
			cells[column] = row[i]
		}
		r.cells = append(r.cells, cells)
	}
	for _, column := range aColumn.FindAllStringSubmatch(string(text), -1) {
		r.says[column[1]] = column[2]
	}
	return r, nil
}

// shared are the columns that all tables have, in the order of the first. A column has to
// mean the same in each of them.
func shared(tables []recipes) ([]string, error) {
	var list []string
	first := tables[0]
	for _, column := range first.columns {
		has := func(r recipes) bool { return slices.Contains(r.columns, column) }
		if slices.IndexFunc(tables, func(r recipes) bool { return !has(r) }) < 0 {
			list = append(list, column)
		}
	}
	for _, column := range list[1:] { // after the name of the recipe
		for _, r := range tables {
			if r.says[column] == "" || r.says[column] != first.says[column] {
				return nil, fmt.Errorf("the column %q means %q for %s, and %q for %s", column, r.says[column], r.service, first.says[column], first.service)
			}
		}
	}
	return list, nil
}

// tabled are the services that have a table of recipes: not etcd, the first one, nor one for
// which gcsim has no client.
func tabled() []*service.Service {
	return slices.DeleteFunc(slices.Clone(all.List[1:]), func(s *service.Service) bool { return s.Dial == nil })
}

const locksFile = "docs/locks.md"

// locks is docs/locks.md: what people wrote of it, with the tables of all services as one.
func locks(root fs.FS) (string, error) {
	var tables []recipes
	for _, s := range tabled() {
		r, err := readRecipes(root, s.Name)
		if err != nil {
			return "", err
		}
		tables = append(tables, r)
	}
	columns, err := shared(tables)
	if err != nil {
		return "", err
	}
	return filled(sources, "locks.md.tmpl", template.FuncMap{
		"recipes":  func() string { return joined(tables, columns) },
		"columns":  func() string { return meanings(tables[0], columns) },
		"measured": func() (string, error) { return measured(root) },
	})
}

func joined(tables []recipes, columns []string) string {
	lines := []string{
		"| service | " + strings.Join(columns, " | ") + " |",
		"|" + strings.Repeat(" --- |", 1+len(columns)),
	}
	for _, r := range tables {
		for _, cells := range r.cells {
			line := fmt.Sprintf("| [%s](%[1]s/recipes.md) |", r.service)
			for _, column := range columns {
				line += " " + cells[column] + " |"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func meanings(r recipes, columns []string) string {
	var lines []string
	for _, column := range columns[1:] {
		lines = append(lines, fmt.Sprintf("- *%s*: %s [Its story](../internal/lab/labtest/stories/%[1]s.yaml).", column, r.says[column]))
	}
	return strings.Join(lines, "\n")
}

// measuredFile has between two lines what the part compared of internal/tools/bench wrote.
const measuredFile = "internal/tools/mkdocs/measured.md"

var betweenMarks = regexp.MustCompile(`(?s)<!-- bench: begin -->\n(.*?)\n*<!-- bench: end -->`)

func measured(root fs.FS) (string, error) {
	text, err := fs.ReadFile(root, measuredFile)
	if err != nil {
		return "", err
	}
	found := betweenMarks.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s has no lines between which the tables of internal/tools/bench are", measuredFile)
	}
	return string(found[1]), nil
}
