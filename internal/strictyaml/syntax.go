package strictyaml

import "strings"

// faults are what the YAML library says of files that are no YAML, and what is to
// be done about it in words that need no knowledge of YAML's grammar. The first
// that fits counts.
var faults = []struct{ said, meant string }{
	{"cannot start any token", "a tab stands here: indent with spaces"},
	{"block sequence entries are not allowed", "a list begins on a line of its own: quote the text if it begins with a -"},
	{"mapping value is not allowed", "a \": \" has no place here: quote the text if it has one, or indent the line as those around it"},
	{"map key-value is pre-defined", "a quoted text ends before this: quote all of it"},
	{"value is not allowed in this context", "this has no place here: indent the line as those around it, and look whether a bracket or brace is too many"},
	{"found an invalid key for this map", "want a plain name, like \"title:\""},
	{"unexpected key name", "want \"key: value\", with a colon and a space"},
	{"reserved character", "no text begins so: quote it"},
	{"unexpected directive", "no text begins with a %: quote it"},
	{"invalid header option", "a text does not begin in the line of the | or >: quote it, or begin it in the next line"},
	{"could not find flow map content", "a { begins here that has no }: quote the text if it begins with one"},
	{"sequence end token ']' not found", "a [ begins here that has no ]: quote the text if it begins with one"},
	{"',' or '}' must be specified", "a { before this has no }, or a comma is missing"},
	{"',' or ']' must be specified", "a [ before this has no ], or a comma is missing"},
	{"could not find end character", "a quote begins here that does not end"},
	{"found unknown escape character", "no character is written so: use single quotes, or \\\\ for a \\"},
}

// plainly says what is wrong with a file that is no YAML.
func plainly(message string) string {
	for _, f := range faults {
		if strings.Contains(message, f.said) {
			return f.meant
		}
	}
	return message
}
