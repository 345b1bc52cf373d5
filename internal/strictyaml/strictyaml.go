// Package strictyaml reads files of one YAML document, and of YAML only what is plain.
// What is wrong has a place.
package strictyaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Error is what is wrong with a place in a file. Lines and columns are from 1; a column
// counts characters.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return e.Text }

// ErrorAt is about the place where a value begins.
func ErrorAt(n ast.Node, format string, args ...any) *Error {
	return errorAt(start(n), fmt.Sprintf(format, args...))
}

func errorAt(t *token.Token, text string) *Error {
	return &Error{t.Position.Line, t.Position.Column, text}
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

// beginning is where a document begins: at its "---", which can be left out after the
// "..." of the document before.
func beginning(d *ast.DocumentNode) *token.Token {
	if d.Start != nil {
		return d.Start
	}
	return start(d.Body)
}

// Kind is a kind of file, by what is said of files that are none.
type Kind struct {
	Name   string // in errors, like "a scenario"
	Empty  string // said where there is no document
	Second string // said where a second document begins
	NoYAML string // said before what is wrong with the syntax

	// Secret: no error repeats anything from the file. A key that stands twice in a
	// mapping is no error then, because the library's repeats the key.
	Secret bool
	// Check says what else is wrong with a node. It may be nil.
	Check func(ast.Node) *Error
}

// Parse returns the document of a file. Errors are of type *Error.
func (k Kind) Parse(text string) (ast.Node, error) {
	var mode []parser.Option
	if k.Secret {
		mode = append(mode, parser.AllowDuplicateMapKey())
	}
	tree, err := parser.ParseBytes([]byte(text), 0, mode...)
	if err != nil {
		return nil, k.syntaxError(err)
	}
	var root ast.Node
	if len(tree.Docs) > 0 {
		root = tree.Docs[0].Body
	}
	if _, is := root.(*ast.DirectiveNode); is {
		return nil, ErrorAt(root, "%s has no directives", k.Name)
	}
	if len(tree.Docs) > 1 {
		return nil, errorAt(beginning(tree.Docs[1]), k.Second)
	}
	if root == nil {
		return nil, &Error{1, 1, k.Empty}
	}
	plain := plainness{kind: k}
	if ast.Walk(&plain, root); plain.err != nil {
		return nil, plain.err
	}
	return root, nil
}

func (k Kind) syntaxError(err error) *Error {
	at := &token.Token{Position: &token.Position{Line: 1, Column: 1}}
	message := err.Error()
	var y yaml.Error
	if errors.As(err, &y) {
		message = y.GetMessage()
		if t := y.GetToken(); t != nil {
			at = t
		}
	}
	said := plainly(message)
	if k.Secret && said == message { // what the library quotes comes from the file
		said, _, _ = strings.Cut(said, `"`)
	}
	return errorAt(at, k.NoYAML+strings.TrimSpace(said))
}

// plainness finds what files do without. The YAML library would accept some of it in
// surprising ways.
type plainness struct {
	kind Kind
	err  *Error
}

// Visit implements ast.Visitor.
func (p *plainness) Visit(n ast.Node) ast.Visitor {
	if p.err == nil {
		p.err = p.kind.check(n)
	}
	if p.err != nil {
		return nil
	}
	return p
}

func (k Kind) check(n ast.Node) *Error {
	switch n.(type) {
	case *ast.TagNode, *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return ErrorAt(n, "%s has no tags, anchors, aliases or merge keys", k.Name)
	case *ast.MappingKeyNode:
		return ErrorAt(n, "want a plain name, like \"title:\"")
	case *ast.NullNode:
		return ErrorAt(n, "a value is missing here")
	}
	if k.Check != nil {
		return k.Check(n)
	}
	return nil
}

// Pairs are those of a mapping, in their order; ok if the node is one.
func Pairs(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}
