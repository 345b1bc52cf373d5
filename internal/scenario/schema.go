package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON schema (draft 2020-12) of scenario files, for editors and
// other tools. It is made from the types and the step forms that Parse goes by.
// What needs the whole story, like the resuming of a client that was not paused,
// it cannot know.
func Schema() ([]byte, error) {
	s := reflector().Reflect(&document{})
	s.Title = "fencelab scenario"
	s.Definitions = stepDefinitions()
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of scenarios: %w", err)
	}
	return append(b, '\n'), nil
}

func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, Anonymous: true, DoNotReference: true}
}

// schemaOf is the schema of a type, as a part of another.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s := reflector().ReflectFromType(t)
	s.Version = ""
	return s
}

var one = uint64(1)

// JSONSchema implements the interface of package jsonschema, as those below do.
func (word) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

func (plain) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

func (whole) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }

func (flag) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

func (keySet) JSONSchema() *jsonschema.Schema {
	two := uint64(2)
	return &jsonschema.Schema{Type: "array", Items: schemaOf(reflect.TypeFor[word]()), MinItems: &two, UniqueItems: true}
}

func (stepList) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/steps"} }

func (named[T]) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", MinProperties: &one,
		AdditionalProperties: schemaOf(reflect.TypeFor[T]()),
		PropertyNames:        &jsonschema.Schema{Pattern: plainName.String()},
	}
}

func (final) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", MinProperties: &one, AdditionalProperties: schemaOf(reflect.TypeFor[plain]())}
}

// JSONSchema of the changes has each path that can be set. A client's stands
// there for all clients.
func (changes) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", MinProperties: &one, AdditionalProperties: jsonschema.FalseSchema,
		Properties: jsonschema.NewProperties(), PatternProperties: make(map[string]*jsonschema.Schema),
	}
	world, client := schemaOf(reflect.TypeFor[worldDoc]()), schemaOf(reflect.TypeFor[clientDoc]())
	for _, path := range pathsOf(reflect.TypeFor[worldDoc](), "") {
		s.Properties.Set(path, change(world, path))
	}
	for _, name := range pathsOf(reflect.TypeFor[clientDoc](), "") {
		s.PatternProperties[`^clients\.(\*|[a-z][a-z0-9-]*)\.`+name+"$"] = change(client, name)
	}
	return s
}

// change is the schema of what a path leads to. A change has no default.
func change(s *jsonschema.Schema, path string) *jsonschema.Schema {
	for name := range strings.SplitSeq(path, ".") {
		s, _ = s.Properties.Get(name)
	}
	s.Default = nil
	return s
}

// stepDefinitions are those of the steps and of each actor's.
func stepDefinitions() jsonschema.Definitions {
	actors := jsonschema.NewProperties()
	defs := jsonschema.Definitions{"clientStep": stepSchema("A client does …", forms[""])}
	for _, actor := range []string{ActorLab, ActorEtcd, ActorClients} {
		name := actor + "Step"
		defs[name] = stepSchema(actor+" does …", forms[actor])
		actors.Set(actor, &jsonschema.Schema{Ref: "#/$defs/" + name})
	}
	defs["steps"] = &jsonschema.Schema{
		Type: "array", MinItems: &one,
		Items: &jsonschema.Schema{
			Type: "object", MinProperties: &one, MaxProperties: &one, Description: "ACTOR: what it does",
			Properties: actors, AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/clientStep"},
			PropertyNames: &jsonschema.Schema{Pattern: plainName.String()},
		},
	}
	return defs
}

func stepSchema(about string, list []form) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: about}
	for _, f := range list {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{
			Title: f.usage, Description: f.about,
			// Not all tools know groups with names.
			Pattern: namedGroup.ReplaceAllString(f.pattern(), "("),
		})
	}
	return s
}

var namedGroup = regexp.MustCompile(`\(\?<[a-z]+>`)
