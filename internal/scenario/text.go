package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/fencelab/fencelab/internal/platform/nearest"
	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// most is how many bytes a file can have. The YAML library takes minutes for one with very many keys.
const most = 64 << 10

// textOfFile is what a file holds, with lines that end in \n. Without an error it can be shown.
func textOfFile(data []byte) (string, error) {
	if len(data) > most {
		return "", fmt.Errorf("it has %d bytes, and a scenario has %d at most", len(data), most)
	}
	text := strings.TrimPrefix(string(data), "\ufeff") // the library takes a byte order mark for a part of the first key
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	line, column := 1, 1
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return text, &strictyaml.Error{Line: line, Column: column, Text: "this is not UTF-8: save the file as UTF-8"}
		case unprintable(r):
			return text, &strictyaml.Error{Line: line, Column: column, Text: fmt.Sprintf("a text has no control characters, like this %U", r)}
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return text, nil
}

// unprintable are control characters: what a scenario says goes to terminals.
func unprintable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

const excerptWidth = 160

// excerpt shows the line, two before it, and a caret; of a long line the part around the column.
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

// Hint says what was meant, behind an error's text: the nearest known word, or else all of them.
func Hint(got string, known []string) string {
	best := nearest.Word(got, known)
	switch {
	case best != "":
		return ": did you mean " + best + "?"
	case len(known) == 0:
		return ""
	}
	return ": want " + either(known)
}

// either joins words as in "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
