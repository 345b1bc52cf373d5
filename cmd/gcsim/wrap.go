package main

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// wrap makes lines of a text that are no wider than width. It breaks between words
// only: what is to be typed or looked for has hyphens. The first line begins with
// indent, those after it with hanging.
func wrap(text string, width int, indent, hanging string) []string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return []string{indent}
	}
	var lines []string
	line := indent + words[0]
	for _, word := range words[1:] {
		if ansi.StringWidth(line+" "+word) > width {
			lines, line = append(lines, line), hanging+word
			continue
		}
		line += " " + word
	}
	return append(lines, line)
}
