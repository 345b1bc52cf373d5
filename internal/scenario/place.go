package scenario

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// misplaced is an error about a place in the file. Lines and columns are from 1;
// a column counts characters.
type misplaced struct {
	line, column int
	text         string
}

func (m *misplaced) Error() string { return m.text }

func errorAt(n ast.Node, format string, args ...any) *misplaced {
	at := start(n).Position
	return &misplaced{at.Line, at.Column, fmt.Sprintf(format, args...)}
}

// start is where a value begins. The library says of a mapping where its first
// colon stands.
func start(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

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
