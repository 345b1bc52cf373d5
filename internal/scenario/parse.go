package scenario

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// document is a scenario as it is written. The parser and the JSON schema both go by the fields' tags.
type document struct {
	Title    word              `yaml:"title" jsonschema:"required,minLength=1,pattern=^\\s*\\S[^\\n]*\\s*$" want:"one line of text" jsonschema_description:"What goes wrong, in one line."`
	Lesson   word              `yaml:"lesson" jsonschema_description:"What happens, and why."`
	Helps    word              `yaml:"helps" jsonschema_description:"What helps against it."`
	Source   word              `yaml:"source" jsonschema_description:"Where the pitfall is documented."`
	World    anything          `yaml:"world" jsonschema_description:"What the clients meet."`
	Together []keySet          `yaml:"together" jsonschema:"minItems=1" jsonschema_description:"Sets of keys that make sense only if one tenure wrote them all."`
	Clients  named[anything]   `yaml:"clients" jsonschema:"required" jsonschema_description:"The lock clients, each a process of its own."`
	Steps    stepList          `yaml:"steps" jsonschema:"required" jsonschema_description:"The story. Each step waits for what it names; then comes the next."`
	Variants named[variantDoc] `yaml:"variants" jsonschema:"required" jsonschema_description:"Ways to run the story. One can be the control: the story without the protection."`

	grammar *grammar
}

type variantDoc struct {
	About   word            `yaml:"about" jsonschema_description:"What sets the variant apart, in words."`
	Control flag            `yaml:"control" jsonschema:"default=false" jsonschema_description:"It is the control: it fails in the way that the scenario teaches."`
	Set     named[anything] `yaml:"set" jsonschema_description:"What is different from the scenario's world and clients, by path; clients.* is all of them. Later ones win."`
	Steps   stepList        `yaml:"steps" jsonschema_description:"The story, where it is not the scenario's."`
	Expect  expectDoc       `yaml:"expect" jsonschema:"required" jsonschema_description:"What must come of it. What is left out is not looked at."`
}

type expectDoc struct {
	Verdict   word     `yaml:"verdict" jsonschema:"required,enum=safe,enum=corrupted,enum=blocked" jsonschema_description:"safe, corrupted (a write of an earlier tenure was applied after a later one began its work, or an acknowledged write is lost) or blocked (the rightful holder was refused, a free lock was not granted, or a lock was held too long after nobody could renew it)."`
	Stale     whole    `yaml:"stale" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused as stale."`
	Refused   whole    `yaml:"refused" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused, for whatever reason."`
	Ordered   flag     `yaml:"ordered" jsonschema_description:"Whether tokens grew in the order of grants."`
	Exclusive flag     `yaml:"exclusive" jsonschema_description:"Whether no tenure began before the one before it was over, by the lock service's account."`
	Fair      flag     `yaml:"fair" jsonschema_description:"Whether the lock service granted in the order of requests, by its own account of the queue."`
	Fenced    flag     `yaml:"fenced" jsonschema_description:"Whether the storage did what a fenced storage does, by its own history."`
	Final     final    `yaml:"final" jsonschema_description:"What keys hold at the end."`
	Missing   []word   `yaml:"missing" jsonschema:"minItems=1" jsonschema_description:"Keys that have no value at the end."`
	Steps     outcomes `yaml:"steps" jsonschema_description:"What becomes of steps, by their names."`
}

// These are types of their own because the schema says something of its own about each.
type (
	keySet   []word
	stepList []stepDoc
	stepDoc  struct {
		named[word]
		name word
	}
	final    struct{ named[plain] }
	outcomes struct{ named[word] }
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

var errorAt = strictyaml.ErrorAt

// reader is a type of the file that reads its own node, and is no leaf.
type reader interface {
	read(n *strictyaml.Node) error
}

// read fills dst, a pointer to a type of the file, from a node.
func read(n *strictyaml.Node, dst any) error {
	switch dst := dst.(type) {
	case leaf:
		return readField(n, dst, setting.Setting{})
	case reader:
		return dst.read(n)
	}
	v := reflect.ValueOf(dst).Elem()
	if v.Kind() == reflect.Struct {
		return readStruct(n, v)
	}
	items, ok := strictyaml.Items(n)
	if !ok {
		return errorAt(n, "want a list, like \"- …\" or \"[…]\"")
	}
	if len(items) == 0 {
		return errorAt(n, "this list is empty")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		if err := read(item, v.Index(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// readStruct fills a struct from a mapping with its fields' names.
func readStruct(n *strictyaml.Node, v reflect.Value) error {
	pairs, err := entriesOf(n, fieldNames(v.Type()))
	if err != nil {
		return err
	}
	given := maps.Collect(pairs)
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		s, dst := settingOf(v.Type().Field(i)), v.Field(i).Addr().Interface()
		node, is := given[s.Name]
		if !is && s.Required {
			return errorAt(n, "%q is missing", s.Name)
		}
		if l, single := dst.(leaf); is && single {
			err = readField(node, l, s)
		} else if is {
			err = read(node, dst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readField reads a leaf, which is what the tags of its field say.
func readField(n *strictyaml.Node, l leaf, s setting.Setting) (err error) {
	s.Kind = l.kind()
	*l.at(), err = readLeaf(n, s)
	return err
}

// entriesOf are those of a mapping whose keys can have some names only, in their order.
func entriesOf(n *strictyaml.Node, names []string) (iter.Seq2[string, *strictyaml.Node], error) {
	pairs, ok := strictyaml.Pairs(n)
	if !ok {
		return nil, errorAt(n, "want a mapping, like {%s: …}", names[0])
	}
	for _, pair := range pairs {
		if name := pair.Key.Value; !slices.Contains(names, name) {
			return nil, errorAt(pair.Key, "unknown key %q%s", name, Hint(name, names))
		}
	}
	return func(yield func(string, *strictyaml.Node) bool) {
		for _, pair := range pairs {
			if !yield(pair.Key.Value, pair.Value) {
				return
			}
		}
	}, nil
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, is := t.Field(i).Tag.Lookup("yaml"); is {
			names = append(names, name)
		}
	}
	return names
}

// settingOf is what the tags of a field say of it. The JSON schema is made from the same tags.
func settingOf(f reflect.StructField) setting.Setting {
	s := setting.Setting{Name: f.Tag.Get("yaml"), Want: f.Tag.Get("want")}
	for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "required":
			s.Required = true
		case "enum":
			s.Of = append(s.Of, value)
		case "pattern":
			s.Pattern = value
		}
	}
	return s
}
