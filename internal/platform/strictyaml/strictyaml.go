// Package strictyaml reads files of one YAML document, and of YAML only what is plain.
// What is wrong has a place.
package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Node is a value of a file. The functions below say what it is.
type Node = yaml.Node

// Error is what is wrong with a place in a file. Lines and columns are from 1; a column counts characters.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return e.Text }

// ErrorAt is about the place where a value begins.
func ErrorAt(n *Node, format string, args ...any) *Error {
	return &Error{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// Kind is a kind of file, by what is said of files that are none.
type Kind struct {
	Name   string // in errors, like "a scenario"
	Empty  string // said where there is no document
	Second string // said where a second document begins
	NoYAML string // said before what is wrong with the syntax

	// Secret: no error repeats anything from the file. A key that stands twice in a
	// mapping is no error then, because the error would repeat the key.
	Secret bool
	// Check says what else is wrong with a node. It may be nil.
	Check func(*Node) *Error
}

// Deepest is how many lists and mappings can be within one another, the outermost one included.
const Deepest = 32

var errTooDeep = fmt.Errorf("lists and mappings are more than %d deep here: %d is the bound", Deepest, Deepest)

// Parse returns the document of a file. Errors are of type *Error.
func (k Kind) Parse(text string) (*Node, error) {
	if before, tooMany := countMarks(text); tooMany != nil {
		if _, err := k.load(before); err != nil && strings.HasSuffix(err.Error(), errTooDeep.Error()) {
			return nil, err // which comes first
		}
		return nil, tooMany
	}
	root, err := k.load(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, &Error{1, 1, k.Empty}
	}
	if err := k.check(root, 0); err != nil {
		return nil, err
	}
	return root, nil
}

// load is the only document of a file; nil: it has none.
func (k Kind) load(text string) (*Node, error) {
	tooDeep := loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
		if depth > Deepest {
			return errTooDeep
		}
		return nil
	})
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithStreamNodes(), yaml.WithPlugin(loaderlimits.New(tooDeep)))
	if err != nil {
		return nil, err
	}
	var root *Node
	for {
		var n Node
		switch err := loader.Load(&n); {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, k.syntaxError(err, text)
		case n.Kind == yaml.StreamNode && (n.Stream.Version != nil || len(n.Stream.TagDirectives) > 0):
			return nil, ErrorAt(&n, "%s has no directives", k.Name)
		case n.Kind == yaml.StreamNode:
		case root != nil:
			return nil, ErrorAt(&n, "%s", k.Second)
		default:
			if only := n.Content[0]; only.Kind != yaml.ScalarNode || only.Tag != nullTag || only.Value != "" { // else nothing is written
				root = only
			}
		}
	}
}

func (k Kind) syntaxError(err error, text string) *Error {
	at, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &Error{1, 1, k.NoYAML + err.Error()}
	}
	said, mark := plainly(at, text)
	switch {
	case strings.Contains(at.ContextMsg+at.Message, "directive"), strings.Contains(at.Message, "incompatible YAML"):
		line, _ := within(text, mark)
		return &Error{line, 1, k.Name + " has no directives"}
	case said == "":
		said = at.Message
		if k.Secret { // what the library quotes comes from the file
			said, _, _ = strings.Cut(said, "'")
		}
	}
	line, column := within(text, mark)
	return &Error{line, column, k.NoYAML + strings.TrimSpace(said)}
}

// check finds what files do without in a node that is this deep, and in all within it. The
// YAML library would accept some of it in surprising ways.
func (k Kind) check(n *Node, deep int) *Error {
	switch {
	case n.Anchor != "" || n.Alias != nil || n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" || n.Tag == mergeTag:
		return ErrorAt(n, "%s has no tags, anchors, aliases or merge keys", k.Name)
	case n.Kind == yaml.ScalarNode && n.Tag == nullTag:
		return ErrorAt(n, "a value is missing here")
	case n.Kind != yaml.ScalarNode && deep == Deepest:
		return ErrorAt(n, "%s", errTooDeep)
	}
	if k.Check != nil {
		if err := k.Check(n); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		if err := k.checkKeys(n); err != nil {
			return err
		}
	}
	for _, within := range n.Content {
		if err := k.check(within, deep+1); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys holds a mapping to keys that are names, each once.
func (k Kind) checkKeys(n *Node) *Error {
	first := make(map[string]*Node)
	pairs, _ := Pairs(n)
	for _, pair := range pairs {
		key := pair.Key
		switch before := first[key.Value]; {
		case key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode:
			return ErrorAt(key, "want a plain name, like \"title:\"")
		case before != nil && !k.Secret:
			return ErrorAt(key, "mapping key %q already defined at [%d:%d]", key.Value, before.Line, before.Column)
		}
		first[key.Value] = key
	}
	return nil
}

// countMarks refuses a file with more commas and colons than one of its size can have, and returns
// what stands before the first one too many. For a comma in brackets the YAML library takes up to
// 2 KiB of memory, for a colon up to 4, and no file that says something has as many.
func countMarks(text string) (before string, err *Error) {
	most, marks := max(1<<10, len(text)*9/20), 0
	for i := range len(text) {
		switch text[i] {
		case ',':
			marks++
		case ':':
			marks += 2
		}
		if marks > most {
			before = text[:i]
			line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
			return before, &Error{line, column, fmt.Sprintf("the file has too many commas and colons before this: %d is the bound for a file of %d bytes, and a colon counts twice", most, len(text))}
		}
	}
	return text, nil
}

// Tags of scalars, as the YAML library resolves them.
const (
	nullTag  = "!!null"
	mergeTag = "!!merge"
	textTag  = "!!str"
	timeTag  = "!!timestamp"
	wholeTag = "!!int"
	flagTag  = "!!bool"
)

// Text is a node that stands in no file.
func Text(text string) *Node {
	return &Node{Kind: yaml.ScalarNode, Tag: textTag, Value: text, Line: 1, Column: 1}
}

// IsScalar reports whether a node is a value of one piece. Its Value is the text as it is
// written: 010 is 010, not 8.
func IsScalar(n *Node) bool { return n.Kind == yaml.ScalarNode }

// IsText reports whether a node is a text. A date is one.
func IsText(n *Node) bool { return IsScalar(n) && (n.Tag == textTag || n.Tag == timeTag) }

// IsWhole reports whether a node looks like a whole number.
func IsWhole(n *Node) bool { return IsScalar(n) && n.Tag == wholeTag }

// IsFlag reports whether a node is true or false.
func IsFlag(n *Node) bool { return IsScalar(n) && n.Tag == flagTag }

// IsBlock reports whether a node is a text that begins with | or >.
func IsBlock(n *Node) bool { return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// Items are the items of a list; ok if the node is one.
func Items(n *Node) (items []*Node, ok bool) { return n.Content, n.Kind == yaml.SequenceNode }

// Pair is a key of a mapping and its value.
type Pair struct{ Key, Value *Node }

// Pairs are the pairs of a mapping, in their order; ok if the node is one.
func Pairs(n *Node) (pairs []Pair, ok bool) {
	if n.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, Pair{n.Content[i], n.Content[i+1]})
	}
	return pairs, true
}

// Mapping is one to be written, in its order.
type Mapping []Entry

// Entry is a key of a mapping and its value.
type Entry struct {
	Key   string
	Value any
}

// MarshalYAML implements yaml.Marshaler.
func (m Mapping) MarshalYAML() (any, error) {
	n := &Node{Kind: yaml.MappingNode}
	for _, e := range m {
		var value Node
		if err := value.Encode(e.Value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, Text(e.Key), &value)
	}
	return n, nil
}

// Write writes a file that Parse reads.
func Write(m Mapping) ([]byte, error) { return yaml.Dump(m, yaml.WithLineWidth(-1)) }

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
