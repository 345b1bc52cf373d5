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
