package scenario

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

const excerptWidth = 160

// excerpt shows the line, two lines before it, and a caret below the column. Of long lines
// it shows the part around that column.
func excerpt(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	line = min(max(line, 1), len(lines))
	width := len(fmt.Sprint(line))
	before := []rune(visible(lines[line-1]))
	at := ansi.StringWidth(string(before[:min(max(column-1, 0), len(before))]))
	left := 0
	if at >= excerptWidth-1 { // where an ellipsis would stand
		left = at - excerptWidth/2
	}
	var b strings.Builder
	for n := max(line-2, 1); n <= line; n++ {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("   %*d | %s", width, n, part(visible(lines[n-1]), left)), " "))
	}
	fmt.Fprintf(&b, "   %*s | %s^", width, "", strings.Repeat(" ", at-left))
	return b.String()
}

// part is what is shown of a line from a column on. An ellipsis stands for what is not.
func part(line string, left int) string {
	if left > 0 && line != "" {
		line = ansi.TruncateLeft(line, left+1, "…")
	}
	return ansi.Truncate(line, excerptWidth, "…")
}

// visible is a line as a terminal can show it, each character in its place.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(line, "\r"))
}
