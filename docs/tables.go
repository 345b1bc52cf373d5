// Package docs has what programs read in the documents.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Published is where everybody finds the repository's files.
const Published = "https://github.com/fencelab/fencelab/blob/main/"

// WayMark begins the last lines of a chapter, which say where to go from there.
const WayMark = "\n<!-- By make docs: -->\n"

// Slides are those of the course, in the repository. What they look like and do is beside them, by the same name.
const Slides = "docs/course/slides.html"

// Recipes has recipes.md of each lock service, in the directory of its chapters.
//
//go:embed recipes.md */recipes.md
var Recipes embed.FS

// Table says what each recipe of a lock service does.
type Table struct {
	Columns []string
	Cells   []map[string]string // of each recipe, by column
	Says    map[string]string   // what each column means
}

var (
	aRow    = regexp.MustCompile(`(?m)^\| (.+) \|$`)
	aColumn = regexp.MustCompile(`(?m)^- \*(.+)\*: (.+)$`)
)

// ReadTable reads the table of a file below root.
func ReadTable(root fs.FS, file string) (Table, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return Table{}, fmt.Errorf("read a table of recipes: %w", err)
	}
	var rows [][]string
	for _, row := range aRow.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, strings.Split(row[1], " | "))
	}
	if len(rows) < 3 {
		return Table{}, fmt.Errorf("%s has no table of recipes: TestTable of its lock service writes it, with -update", file)
	}
	t := Table{Columns: rows[0], Says: make(map[string]string)}
	for _, row := range rows[2:] { // below the names of the columns, and the line beneath them
		if len(row) != len(t.Columns) {
			return Table{}, fmt.Errorf("%s: the row of %s has %d cells, want %d", file, row[0], len(row), len(t.Columns))
		}
		cells := make(map[string]string)
		for i, column := range t.Columns {
			cells[column] = row[i]
		}
		t.Cells = append(t.Cells, cells)
	}
	for _, column := range aColumn.FindAllStringSubmatch(string(text), -1) {
		t.Says[column[1]] = column[2]
	}
	return t, nil
}

// Does reports whether a recipe, or the first one where it has no name, has a property. In a column whose name has more
// words than the property's each cell has to say so.
func (t Table) Does(recipe, property string) bool {
	cells := t.cells(recipe, property)
	return len(cells) > 0 && !slices.ContainsFunc(cells, func(cell string) bool { return cell != "yes" })
}

// Applies reports whether a recipe, or the first one where it has no name, can have a property: no cell has a dash.
func (t Table) Applies(recipe, property string) bool {
	cells := t.cells(recipe, property)
	return len(cells) > 0 && !slices.Contains(cells, "–")
}

// cells are those of a recipe in the columns whose names begin with a property.
func (t Table) cells(recipe, property string) (of []string) {
	for _, row := range t.Cells {
		if name := row[t.Columns[0]]; recipe != "" && name != "`"+recipe+"`" {
			continue
		}
		for _, column := range t.Columns {
			if column == property || strings.HasPrefix(column, property+" ") {
				of = append(of, row[column])
			}
		}
		return of
	}
	return nil
}
