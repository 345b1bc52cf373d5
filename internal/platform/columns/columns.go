// Package columns fits text into the columns of a terminal.
package columns

import (
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Of is how many columns w has, if it is a terminal; else how many the variable COLUMNS says; 0: nobody says.
func Of(w io.Writer, variable string) int {
	if f, ok := w.(term.File); ok && term.IsTerminal(f.Fd()) {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			return width
		}
	}
	n, _ := strconv.Atoi(variable)
	return max(n, 0)
}

// Wrap makes lines of a text that are no wider than width. It breaks between words only: what is to be typed
// or looked for has hyphens. The first line begins with indent, those after it with hanging.
func Wrap(text string, width int, indent, hanging string) string {
	done, line, gap := "", indent, ""
	for word := range strings.FieldsSeq(text) {
		if gap != "" && ansi.StringWidth(line+gap+word) > width {
			done, line, gap = done+line+"\n", hanging, ""
		}
		line, gap = line+gap+word, " "
	}
	return done + line
}

// row is a row of a table: its indent, and perhaps a name and a gap; then what it says.
var row = regexp.MustCompile(`^(( *)(?:\S.*  )?)(\S.*)$`)

// Fit breaks the lines of a text that are wider than width; 0 or less: none. What a row says goes on below itself, or
// stands below its name. An indented line without a name is to be typed, and stays whole.
func Fit(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if width <= 0 || ansi.StringWidth(line) <= width {
			continue
		}
		cells := row.FindStringSubmatch(line)
		switch below := ansi.StringWidth(cells[1]); {
		case cells[1] == "" || cells[1] != cells[2] && below <= width-30:
			lines[i] = Wrap(cells[3], width, cells[1], strings.Repeat(" ", below))
		case cells[1] != cells[2]:
			lines[i] = strings.TrimRight(cells[1], " ") + "\n" + Wrap(cells[3], width, cells[2]+"  ", cells[2]+"  ")
		}
	}
	return strings.Join(lines, "\n")
}
