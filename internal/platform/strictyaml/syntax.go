package strictyaml

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// faults are what the YAML library says of files that are no YAML, and what is to be done about it in words
// that need no knowledge of YAML's grammar. The first that fits counts: what is said, while what is read.
var faults = []struct {
	while, said, meant string
	begun              bool // the place is where what is read begins
}{
	{"", errTooDeep.Error(), errTooDeep.Error(), false},
	{"", "tab", "a tab stands here: indent with spaces", false},
	{"", "block sequence entries are not allowed", "a list begins on a line of its own: quote the text if it begins with a -", false},
	{"", "mapping values are not allowed", "a \": \" has no place here: quote the text if it has one, indent the line as those around it, and look whether the line before has its \"key: \"", false},
	{"", "mapping keys are not allowed", "want a plain name, like \"title:\"", false},
	{"a flow sequence", "", "a [ begins here that has no ], or a comma is missing in it: quote the text if it begins with a [", true},
	{"a flow mapping", "", "a { begins here that has no }, or a comma is missing in it: quote the text if it begins with a {", true},
	{"a flow node", "", "a value is missing here: look whether a comma is too many, or a bracket or brace before this has no end", false},
	{"a simple key", "", "want \"key: value\", with a colon and a space", true},
	{"a quoted scalar", "escape", "no character is written so: use single quotes, or \\\\ for a \\", false},
	{"a quoted scalar", "hexadecimal", "no character is written so: use single quotes, or \\\\ for a \\", false},
	{"a quoted scalar", "", "a quote begins here that does not end", true},
	{"a block scalar", "", "a text does not begin in the line of the | or >: quote it, or begin it in the next line", true},
	{"an alias", "", "a text that begins with * or & is quoted", true},
	{"an anchor", "", "a text that begins with * or & is quoted", true},
	{"a tag", "", "a text that begins with ! is quoted", true},
	{"", "unknown anchor", "a text that begins with * or & is quoted", false},
	{"", "tag handle", "a text that begins with ! is quoted", false},
	{"", "cannot start any token", "no text begins so: quote it, and look whether a bracket or brace before it has no end", false},
	{"", "did not find expected key", "this has no place here: indent the line as those around it, quote all of a text of which a part is quoted, and look whether a bracket or brace is too many", false},
	{"", "did not find expected '-' indicator", "this has no place here: indent the line as those around it", false},
	{"", "did not find expected <document start>", "this has no place here: indent the line as those around it, and look whether a bracket or brace is too many", false},
	{"", "did not find expected node content", "this has no place here: look whether a bracket or brace is too many", false},
}

// plainly says what is wrong with a file that is no YAML, "" if it has no better words
// than the library, and where.
func plainly(err *yaml.LoadError, text string) (string, yaml.Mark) {
	said := err.Message
	if characterAt(text, err.Mark) == '\t' {
		said += ": a tab"
	}
	for _, f := range faults {
		if !strings.Contains(err.ContextMsg, f.while) || !strings.Contains(said, f.said) {
			continue
		}
		if f.begun {
			return f.meant, err.ContextMark
		}
		return f.meant, err.Mark
	}
	return "", err.Mark
}

// characterAt is what stands at a place, 0 if nothing does.
func characterAt(text string, at yaml.Mark) rune {
	lines := strings.Split(text, "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return 0
	}
	line := []rune(lines[at.Line-1])
	if at.Column < 1 || at.Column > len(line) {
		return 0
	}
	return line[at.Column-1]
}

// within is a place in a file, for one that can be behind its end.
func within(text string, at yaml.Mark) (line, column int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if at.Line > len(lines) {
		last := lines[len(lines)-1]
		return len(lines), utf8.RuneCountInString(last) + 1
	}
	return max(at.Line, 1), max(at.Column, 1)
}
