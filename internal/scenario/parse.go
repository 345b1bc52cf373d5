package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse reads a scenario. file names it in errors, and name is the scenario's.
// An error says file, line and column, what is wrong and what was meant
// instead, and shows the place.
func (l *Language) Parse(file, name string, data []byte) (*Scenario, error) {
	text, err := textOfFile(data)
	if err == nil {
		var s *Scenario
		if s, err = l.parse(name, text); err == nil {
			return s, nil
		}
	}
	var at *misplaced
	if !errors.As(err, &at) {
		var y yaml.Error
		if !errors.As(err, &y) || y.GetToken() == nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		at = &misplaced{y.GetToken().Position.Line, y.GetToken().Position.Column, plainly(y.GetMessage())}
	}
	return nil, fmt.Errorf("%s:%d:%d: %s\n%s", file, at.line, at.column, at.text, excerpt(text, at.line, at.column))
}

func (l *Language) parse(name, text string) (*Scenario, error) {
	tree, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, err
	}
	if _, is := tree.Docs[0].Body.(*ast.DirectiveNode); is {
		return nil, errorAt(tree.Docs[0].Body, "a scenario has no directives")
	}
	if len(tree.Docs) > 1 {
		at := tree.Docs[1].Start.Position
		return nil, &misplaced{at.Line, at.Column, "a second document begins here: a file has one scenario"}
	}
	root := tree.Docs[0].Body
	if root == nil {
		return nil, &misplaced{1, 1, "there is nothing here: want title, clients, steps and variants"}
	}
	var fancy plainness
	if ast.Walk(&fancy, root); fancy.err != nil {
		return nil, fancy.err
	}
	var d document
	if err := read(root, &d); err != nil {
		return nil, err
	}
	return d.scenario(name, l)
}

// plainness finds what a scenario does without. The YAML library would accept
// some of it in surprising ways.
type plainness struct{ err error }

// Visit implements ast.Visitor.
func (p *plainness) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.StringNode:
		if strings.ContainsFunc(n.Value, unprintable) {
			p.err = errorAt(n, "a text has no control characters: %q", n.Value)
		}
	case *ast.TagNode, *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		p.err = errorAt(n, "a scenario has no tags, anchors, aliases or merge keys")
	case *ast.MappingKeyNode:
		p.err = errorAt(n, "want a plain name, like \"title:\"")
	case *ast.NullNode:
		p.err = errorAt(n, "a value is missing here")
	}
	if p.err != nil {
		return nil
	}
	return p
}

func (d *document) scenario(name string, l *Language) (*Scenario, error) {
	s := &Scenario{
		Name: name, Title: strings.TrimSpace(d.Title.text), Lesson: strings.TrimSpace(d.Lesson.text),
		Helps: strings.TrimSpace(d.Helps.text), Source: strings.TrimSpace(d.Source.text),
	}
	for _, e := range d.Clients.entries {
		if err := checkName("client", e.key); err != nil {
			return nil, err
		}
	}
	set, err := d.settings(l)
	if err != nil {
		return nil, err
	}
	d.grammar = l.grammar(set.service, set.names)
	for _, e := range d.Clients.entries {
		if d.grammar.isReserved(e.key.text) {
			return nil, errorAt(e.key.node, "no client can be called %q: that word means something else", e.key.text)
		}
	}
	s.Clients = set.names
	written := make(map[string]bool) // by any variant
	controls := 0
	for _, e := range d.Variants.entries {
		if err := checkName("variant", e.key); err != nil {
			return nil, err
		}
		v, keys, err := d.variant(e, set)
		if err != nil {
			return nil, err
		}
		if v.Control {
			if controls++; controls == 2 {
				return nil, errorAt(e.value.Control.node, "a second variant has \"control: true\": want one, the story without the protection")
			}
		}
		for _, key := range keys {
			written[key] = true
		}
		s.Variants = append(s.Variants, v)
	}
	s.Together, err = together(d.Together, written)
	return s, err
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func checkName(of string, name word) error {
	if !plainName.MatchString(name.text) {
		return errorAt(name.node, "%q is no name for a %s: want small letters, digits and -", name.text, of)
	}
	return nil
}

func together(sets []keySet, written map[string]bool) ([][]string, error) {
	var all [][]string
	for _, set := range sets {
		if len(set) < 2 {
			return nil, errorAt(set[0].node, "one key makes no sense together: want two or more")
		}
		var keys []string
		for _, key := range set {
			if slices.Contains(keys, key.text) {
				return nil, errorAt(key.node, "%q stands here twice", key.text)
			}
			if !written[key.text] {
				return nil, errorAt(key.node, "no step writes %q%s", key.text, Hint(key.text, sorted(written)))
			}
			keys = append(keys, key.text)
		}
		all = append(all, keys)
	}
	return all, nil
}
