package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// placed is an error with the place that it is about. It repeats nothing from
// the file but names that were checked: anything else may be a secret that
// somebody put there by mistake.
type placed struct {
	at   *token.Position
	text string
}

func (p *placed) Error() string { return p.text }

func errorAt(n ast.Node, format string, args ...any) error {
	return &placed{n.GetToken().Position, fmt.Sprintf(format, args...)}
}

// parseTokens reads a tokens file. file names it in errors.
func parseTokens(file string, data []byte) ([]entry, error) {
	list, err := parse(data)
	if err == nil {
		return list, nil
	}
	var at *placed
	var y yaml.Error
	switch {
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s:%d:%d: %w", file, at.at.Line, at.at.Column, err)
	case errors.As(err, &y) && y.GetToken() != nil:
		// What the library quotes comes from the file.
		text, _, _ := strings.Cut(y.GetMessage(), `"`)
		pos := y.GetToken().Position
		return nil, fmt.Errorf("%s:%d:%d: no valid YAML: %s", file, pos.Line, pos.Column, strings.TrimSpace(text))
	}
	return nil, fmt.Errorf("%s:1:1: no valid YAML", file)
}

func parse(data []byte) ([]entry, error) {
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // fields finds them, and quotes nothing
	if err != nil {
		return nil, err
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, &placed{&token.Position{Line: 1, Column: 1}, "want one YAML document, which begins with \"tokens:\""}
	}
	root := tree.Docs[0].Body
	var fancy plainness
	if ast.Walk(&fancy, root); fancy.err != nil {
		return nil, fancy.err
	}
	top, err := fields(root, "tokens")
	if err != nil {
		return nil, err
	}
	if top["tokens"] == nil {
		return nil, errorAt(root, "\"tokens\" is missing")
	}
	items, err := sequence(top["tokens"])
	if err != nil {
		return nil, err
	}
	var list []entry
	for _, item := range items {
		entries, err := parseEntry(item, list)
		if err != nil {
			return nil, err
		}
		list = append(list, entries...)
	}
	return list, nil
}

// plainness finds what a tokens file does without.
type plainness struct{ err error }

// Visit implements ast.Visitor.
func (p *plainness) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.TagNode, *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode, *ast.DirectiveNode:
		p.err = errorAt(n, "a tokens file has no tags, anchors, aliases, merge keys or directives")
	case *ast.NullNode:
		p.err = errorAt(n, "a value is missing here")
	}
	if p.err != nil {
		return nil
	}
	return p
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// parseEntry reads one item of the list, which comes after those before.
func parseEntry(n ast.Node, before []entry) ([]entry, error) {
	f, err := fields(n, "name", "sha256", "rights", "scopes", "keys")
	if err != nil {
		return nil, err
	}
	for _, must := range []string{"name", "sha256", "rights"} {
		if f[must] == nil {
			return nil, errorAt(n, "%q is missing in this token", must)
		}
	}
	p := &Principal{}
	if p.name, err = text(f["name"]); err != nil {
		return nil, err
	}
	if !plainName.MatchString(p.name) {
		return nil, errorAt(f["name"], "this is no name: want 1 to 64 letters, digits and . _ @ -, the first a letter or digit")
	}
	if slices.ContainsFunc(before, func(e entry) bool { return e.owner.name == p.name }) {
		return nil, errorAt(f["name"], "the name %q is there already; one name may have a list of hashes in \"sha256\"", p.name)
	}
	if p.rights, err = parseRights(f["rights"]); err != nil {
		return nil, err
	}
	if p.scopes, err = parsePrefixes(f["scopes"]); err != nil {
		return nil, err
	}
	if p.keys, err = parsePrefixes(f["keys"]); err != nil {
		return nil, err
	}
	return parseHashes(f["sha256"], p, before)
}

func parseRights(n ast.Node) ([]Right, error) {
	items, err := sequence(n)
	if err != nil {
		return nil, err
	}
	var list []Right
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(rights, Right(s)) {
			return nil, errorAt(item, "unknown right, want read, write, observe or admin")
		}
		if slices.Contains(list, Right(s)) {
			return nil, errorAt(item, "the right %q is given twice", s)
		}
		list = append(list, Right(s))
	}
	return list, nil
}

// parsePrefixes of a field that may be left out.
func parsePrefixes(n ast.Node) ([]string, error) {
	if n == nil {
		return nil, nil
	}
	items, err := sequence(n)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		if s == "" {
			return nil, errorAt(item, "an empty prefix would cover all: to allow all, leave the field out")
		}
		list = append(list, s)
	}
	return list, nil
}

// parseHashes reads one hash, or a list of them.
func parseHashes(n ast.Node, owner *Principal, before []entry) ([]entry, error) {
	items := []ast.Node{n}
	if _, ok := n.(*ast.SequenceNode); ok {
		var err error
		if items, err = sequence(n); err != nil {
			return nil, err
		}
	}
	var list []entry
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != sha256.Size {
			return nil, errorAt(item, "this is no SHA-256 of a secret: want %d hex digits, it has %d characters", hex.EncodedLen(sha256.Size), len(s))
		}
		e := entry{[sha256.Size]byte(b), owner}
		for _, other := range slices.Concat(before, list) {
			if other.hash == e.hash {
				return nil, errorAt(item, "this hash is there already, in the token %q", other.owner.name)
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// fields are the values of a mapping that may have the known names.
func fields(n ast.Node, known ...string) (map[string]ast.Node, error) {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return nil, errorAt(n, "want a mapping, with %s", strings.Join(known, ", "))
	}
	m := make(map[string]ast.Node)
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		if name == "token" || name == "secret" {
			return nil, errorAt(pair.Key, "no secret belongs into this file: put its hash into \"sha256\"")
		}
		if !slices.Contains(known, name) {
			return nil, errorAt(pair.Key, "unknown field, want one of %s", strings.Join(known, ", "))
		}
		if m[name] != nil {
			return nil, errorAt(pair.Key, "%q is given twice", name)
		}
		m[name] = pair.Value
	}
	return m, nil
}

// sequence is the items of a list that must have some.
func sequence(n ast.Node) ([]ast.Node, error) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, errorAt(n, "want a list")
	}
	if len(s.Values) == 0 {
		return nil, errorAt(n, "the list is empty")
	}
	return s.Values, nil
}

// text is a scalar as it is written: a hash of digits only is no number.
func text(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", errorAt(n, "want a text in one line")
}
