package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/fencelab/fencelab/internal/history"
)

// Parse reads a scenario. file names it in errors, and its base name without
// .yaml is the scenario's name. An error says file, line and column, what is
// wrong, and shows the place.
func Parse(file, name string, data []byte) (*Scenario, error) {
	s, err := parse(name, data)
	if err == nil {
		return s, nil
	}
	var at *placed
	if !errors.As(err, &at) {
		var y yaml.Error
		if !errors.As(err, &y) || y.GetToken() == nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		at = &placed{y.GetToken(), y.GetMessage()}
	}
	pos := at.token.Position
	_, excerpt, _ := strings.Cut(yaml.FormatErrorWithToken("", at.token, false, true), "\n")
	return nil, fmt.Errorf("%s:%d:%d: %s\n%s", file, pos.Line, pos.Column, at.text, emptyLines.ReplaceAllString(excerpt, ""))
}

// emptyLines are those at the end of an excerpt.
var emptyLines = regexp.MustCompile(`(\n\s*\d+ \|\s*)*\s*$`)

// placed is an error with the place that it is about.
type placed struct {
	token *token.Token
	text  string
}

func (p *placed) Error() string { return p.text }

func errorAt(n ast.Node, format string, args ...any) error {
	return &placed{n.GetToken(), fmt.Sprintf(format, args...)}
}

// file is a scenario as it is written.
type file struct {
	Title    string             `yaml:"title"`
	Lesson   string             `yaml:"lesson"`
	Source   string             `yaml:"source"`
	World    World              `yaml:"world"`
	Clients  ordered[Client]    `yaml:"clients"`
	Steps    []ordered[words]   `yaml:"steps"`
	Variants ordered[variation] `yaml:"variants"`
}

type variation struct {
	Control bool           `yaml:"control"`
	Set     ordered[words] `yaml:"set"`
	Expect  expectation    `yaml:"expect"`
}

type expectation struct {
	Verdict words             `yaml:"verdict"`
	Stale   *int              `yaml:"stale"`
	Final   map[string]string `yaml:"final"`
}

// ordered is a mapping whose order counts.
type ordered[T any] struct {
	node    ast.Node
	entries []entry[T]
}

type entry[T any] struct {
	node  ast.Node // of the name
	name  string
	value T
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (o *ordered[T]) UnmarshalYAML(n ast.Node) error {
	o.node = n
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return errorAt(n, "want a mapping, like \"name: …\"")
	}
	for _, pair := range pairs {
		e := entry[T]{node: pair.Key, name: pair.Key.GetToken().Value}
		if err := yaml.NodeToValue(pair.Value, &e.value, yaml.Strict()); err != nil {
			return err
		}
		o.entries = append(o.entries, e)
	}
	return nil
}

// words is a text and its place.
type words struct {
	node ast.Node
	text string
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (w *words) UnmarshalYAML(n ast.Node) error {
	w.node = n
	if _, ok := n.(ast.ScalarNode); !ok {
		return errorAt(n, "want a text")
	}
	w.text = n.GetToken().Value
	return nil
}

func parse(name string, data []byte) (*Scenario, error) {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, err
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, errors.New("want one YAML document with title, clients, steps and variants")
	}
	root := tree.Docs[0].Body
	var fancy plainness
	if ast.Walk(&fancy, root); fancy.err != nil {
		return nil, fancy.err
	}
	f := file{World: World{Etcd: Etcd{Members: 1}, Storage: Storage{Engine: "memory", Fencing: "on"}}}
	if err := yaml.NodeToValue(root, &f, yaml.Strict()); err != nil {
		return nil, err
	}
	s := &Scenario{Name: name, Title: f.Title, Lesson: strings.TrimSpace(f.Lesson), Source: f.Source}
	for _, missing := range []struct {
		name string
		is   bool
	}{
		{"title", f.Title == ""}, {"clients", len(f.Clients.entries) == 0},
		{"steps", len(f.Steps) == 0}, {"variants", len(f.Variants.entries) == 0},
	} {
		if missing.is {
			return nil, errorAt(root, "%q is missing or empty", missing.name)
		}
	}
	clients := make(map[string]Client)
	for _, e := range f.Clients.entries {
		if err := checkClientName(e); err != nil {
			return nil, err
		}
		c, err := withDefaults(e)
		if err != nil {
			return nil, err
		}
		s.Clients = append(s.Clients, e.name)
		clients[e.name] = c
	}
	steps, err := parseSteps(f.Steps, s.Clients)
	if err != nil {
		return nil, err
	}
	for _, e := range f.Variants.entries {
		v, err := newVariant(e, f.World, clients)
		if err != nil {
			return nil, err
		}
		v.Steps = steps
		s.Variants = append(s.Variants, v)
	}
	controls := 0
	for _, v := range s.Variants {
		if v.Control {
			controls++
		}
	}
	if controls != 1 {
		return nil, errorAt(f.Variants.node, "%d variants have \"control: true\", want exactly one: the story without the protection", controls)
	}
	return s, nil
}

// plainness finds what a scenario does without. The YAML library would accept
// some of it in surprising ways.
type plainness struct{ err error }

// Visit implements ast.Visitor.
func (p *plainness) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.TagNode, *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		p.err = errorAt(n, "a scenario has no tags, anchors, aliases or merge keys")
	case *ast.NullNode:
		p.err = errorAt(n, "a value is missing here")
	}
	if p.err != nil {
		return nil
	}
	return p
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func checkClientName(e entry[Client]) error {
	if !plainName.MatchString(e.name) {
		return errorAt(e.node, "%q is no name for a client: want small letters, digits and -", e.name)
	}
	if slices.Contains([]string{history.LaneEtcd, history.LaneStorage, history.LaneLab}, e.name) {
		return errorAt(e.node, "no client can be called %q: that is another actor's name", e.name)
	}
	return nil
}

func withDefaults(e entry[Client]) (Client, error) {
	c := e.value
	if c.Lock == "" {
		return c, errorAt(e.node, "%s: \"lock\" is missing: which lock does it take?", e.name)
	}
	if c.TTL == 0 {
		c.TTL = time.Second
	}
	if c.TTL < time.Second || c.TTL%time.Second != 0 {
		return c, errorAt(e.node, "%s: \"ttl\" is %v, but etcd's leases have whole seconds from 1", e.name, c.TTL)
	}
	if c.Token == "" {
		c.Token = TokenRevision
	}
	return c, checkToken(e.node, c.Token)
}

func checkToken(n ast.Node, kind string) error {
	return oneOf(n, "kind of token", kind, TokenRevision, TokenLease)
}

func oneOf(n ast.Node, what, got string, want ...string) error {
	if slices.Contains(want, got) {
		return nil
	}
	return errorAt(n, "unknown %s %q, want %s", what, got, strings.Join(want, " or "))
}
