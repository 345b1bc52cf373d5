package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// Parse reads a scenario. file names it in errors, and name is the scenario's. An error says file, line and
// column, what is wrong and what was meant instead, and shows the place.
func (l *Language) Parse(file, name string, data []byte) (*Scenario, error) {
	text, err := textOfFile(data)
	if err == nil {
		var s *Scenario
		if s, err = l.parse(name, text); err == nil {
			return s, nil
		}
	}
	var at *strictyaml.Error
	if !errors.As(err, &at) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return nil, fmt.Errorf("%s:%d:%d: %w\n%s", file, at.Line, at.Column, at, excerpt(text, at.Line, at.Column))
}

var kind = strictyaml.Kind{
	Name:   "a scenario",
	Empty:  "there is nothing here: want title, clients, steps and variants",
	Second: "a second document begins here: a file has one scenario",
	Check: func(n *strictyaml.Node) *strictyaml.Error {
		if strings.ContainsFunc(n.Value, unprintable) {
			return errorAt(n, "a text has no control characters: %q", n.Value)
		}
		return nil
	},
}

func (l *Language) parse(name, text string) (*Scenario, error) {
	root, err := kind.Parse(text)
	if err != nil {
		return nil, err
	}
	var d document
	if err := read(root, &d); err != nil {
		return nil, err
	}
	return d.scenario(name, l)
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
