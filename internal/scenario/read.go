package scenario

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

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
