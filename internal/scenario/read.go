package scenario

import (
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// errorAt is about the place where a value of the file begins.
func errorAt(n *strictyaml.Node, format string, args ...any) *strictyaml.Error {
	return strictyaml.ErrorAt(n, format, args...)
}

// reader is a type of the file that reads its own node.
type reader interface {
	read(n *strictyaml.Node) error
}

// read fills dst, a pointer to a type of the file, from a node.
func read(n *strictyaml.Node, dst any) error {
	if r, ok := dst.(reader); ok {
		return r.read(n)
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

// readStruct fills a struct from a mapping with its fields' names, and what is
// not there with the defaults. Without a node all is default.
func readStruct(n *strictyaml.Node, v reflect.Value) error {
	given := make(map[string]*strictyaml.Node)
	if n != nil {
		pairs, err := entriesOf(n, fieldNames(v.Type()))
		if err != nil {
			return err
		}
		given = maps.Collect(pairs)
	}
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		rule := ruleOf(v.Type().Field(i))
		dst := v.Field(i).Addr().Interface()
		node, is := given[rule.name]
		switch {
		case is:
			if err := rule.read(node, dst); err != nil {
				return err
			}
		case rule.required && n != nil:
			return errorAt(n, "%q is missing", rule.name)
		case v.Field(i).Kind() == reflect.Struct && !rule.leaf:
			if err := readStruct(nil, v.Field(i)); err != nil {
				return err
			}
		case rule.fallback != "":
			dst.(leaf).set(rule.fallback)
		}
	}
	return nil
}

// entriesOf are those of a mapping whose keys can have some names only, in their
// order.
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

// rule is what the tags of a field say of it. The JSON schema is made from the
// same tags.
type rule struct {
	name     string
	leaf     bool
	required bool
	fallback string // what it is where it is not given
	enum     []string
	pattern  *regexp.Regexp
	least    string // the least number that it can be
	want     string // what it can be, in words
}

func ruleOf(f reflect.StructField) rule {
	r := rule{name: f.Tag.Get("yaml"), want: f.Tag.Get("want")}
	_, r.leaf = reflect.New(f.Type).Interface().(reader)
	for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "required":
			r.required = true
		case "default":
			r.fallback = value
		case "enum":
			r.enum = append(r.enum, value)
		case "minimum":
			r.least = value
		case "pattern":
			r.pattern = regexp.MustCompile(value)
		}
	}
	return r
}

// read reads a field's value and holds it to the rule.
func (r rule) read(n *strictyaml.Node, dst any) error {
	l, ok := dst.(leaf)
	if !ok {
		return read(n, dst)
	}
	l.locate(n)
	text := textOf(n)
	want := r.wants(n, l, text)
	switch {
	case !l.is(n) || r.pattern != nil && !r.pattern.MatchString(text):
		return errorAt(n, "%q: want %s", r.name, want)
	case !l.set(text):
		if _, time := l.(*span); time { // it looks like one, and so is only too long
			return errorAt(n, "%q cannot be %s: want %s or less", r.name, text, inUnits(longest))
		}
		return errorAt(n, "%q: want %s", r.name, want)
	case r.enum != nil && !slices.Contains(r.enum, text):
		return errorAt(n, "%q cannot be %s%s", r.name, text, Hint(text, r.enum))
	case r.least != "" && strings.HasPrefix(text, "-"):
		return errorAt(n, "%q cannot be %s: want %s or more", r.name, text, r.least)
	}
	return nil
}

// wants says what the value can be. That it can be quoted is said only where
// that is all that is wrong.
func (r rule) wants(n *strictyaml.Node, l leaf, text string) string {
	scalar := strictyaml.IsScalar(n)
	_, number := l.(*whole)
	quotable := scalar && !l.is(n) && r.pattern != nil && r.pattern.MatchString(text)
	switch {
	case r.enum != nil && number:
		return "a whole number: " + either(r.enum)
	case r.enum != nil:
		return either(r.enum)
	case r.want != "" && !quotable:
		return r.want
	}
	return l.want()
}
