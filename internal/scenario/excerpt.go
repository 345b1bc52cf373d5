package scenario

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// excerpt shows the line, two lines before it, and a caret below the column.
func excerpt(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	line = min(max(line, 1), len(lines))
	width := len(fmt.Sprint(line))
	var b strings.Builder
	for n := max(line-2, 1); n <= line; n++ {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("   %*d | %s", width, n, visible(lines[n-1])), " "))
	}
	before := []rune(visible(lines[line-1]))
	before = before[:min(max(column-1, 0), len(before))]
	fmt.Fprintf(&b, "   %*s | %s^", width, "", strings.Repeat(" ", ansi.StringWidth(string(before))))
	return b.String()
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
