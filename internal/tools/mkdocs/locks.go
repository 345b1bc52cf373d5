package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// recipes are the table of a service, as its TestTable wrote it: what each of its recipes does.
type recipes struct {
	Service string
	Page    string // from docs
	docs.Table
}

// readRecipes reads the table of a service below root, the repository's.
func readRecipes(root fs.FS, service string) recipes {
	file := path.Join(all.Chapters(service), "recipes.md")
	return recipes{service, strings.TrimPrefix(file, "docs/"), fail.Must(docs.ReadTable(root, file))}
}

// shared are the columns that all tables have, in the order of the first. A column has to
// mean the same in each of them.
func shared(tables []recipes) (list []string) {
	first := tables[0]
	for _, column := range first.Columns {
		has := func(r recipes) bool { return slices.Contains(r.Columns, column) }
		if slices.IndexFunc(tables, func(r recipes) bool { return !has(r) }) < 0 {
			list = append(list, column)
		}
	}
	for _, column := range list[1:] { // after the name of the recipe
		for _, r := range tables {
			if r.Says[column] == "" || r.Says[column] != first.Says[column] {
				fail.If(fmt.Errorf("the column %q means %q for %s, and %q for %s", column, r.Says[column], r.Service, first.Says[column], first.Service))
			}
		}
	}
	return list
}

// alike joins recipes that do the same in these columns, the first of which has their names: then a
// name is a list.
func alike(r recipes, columns []string) recipes {
	joined := recipes{r.Service, r.Page, docs.Table{Columns: columns, Says: r.Says}}
	for _, cells := range r.Cells {
		same := func(other map[string]string) bool {
			return !slices.ContainsFunc(columns[1:], func(column string) bool { return other[column] != cells[column] })
		}
		if i := slices.IndexFunc(joined.Cells, same); i >= 0 {
			joined.Cells[i][columns[0]] += ", " + cells[columns[0]]
		} else {
			joined.Cells = append(joined.Cells, cells)
		}
	}
	return joined
}

// tabled are the services that have a table of recipes: not one for which gcsim has no client.
func tabled() []*service.Service {
	return slices.DeleteFunc(slices.Clone(all.List), func(s *service.Service) bool { return s.Dial == nil })
}

// locks is docs/locks.md: what people wrote of it, with the tables of all services as one.
func locks(root fs.FS) string {
	var tables []recipes
	for _, s := range tabled() {
		tables = append(tables, readRecipes(root, s.Name))
	}
	columns := shared(tables)
	for i, r := range tables {
		tables[i] = alike(r, columns)
	}
	return filled(sources, "locks.md.tmpl", template.FuncMap{
		"recipes":  func() []recipes { return tables },
		"columns":  func() []string { return columns },
		"measured": func() (string, error) { return measured(root, measuredFile) },
		"outages":  func() (string, error) { return measured(root, outagesFile) },
	})
}

// Each has between two lines what was measured: what the part compared of internal/tools/bench wrote, and
// internal/tools/outages.
const (
	measuredFile = "internal/tools/mkdocs/measured.md"
	outagesFile  = "internal/tools/mkdocs/outages.md"
)

var betweenMarks = regexp.MustCompile(`(?s)<!-- bench: begin -->\n(.*?)\n*<!-- bench: end -->`)

func measured(root fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return "", err
	}
	found := betweenMarks.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s has no lines between which the tables are", file)
	}
	return string(found[1]), nil
}
