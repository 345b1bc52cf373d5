package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Schema is the JSON schema (draft 2020-12) of scenario files, from the types and step forms that Parse goes by.
// What needs the whole story, like the resuming of a client that was not paused, it cannot know.
func (l *Language) Schema() ([]byte, error) {
	s := reflector().Reflect(&document{})
	l.describeWorld(s)
	s.Title = "fencelab scenario"
	s.Definitions = l.stepDefinitions()
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of scenarios: %w", err)
	}
	return append(b, '\n'), nil
}

func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, Anonymous: true, DoNotReference: true}
}

func schemaOf(t reflect.Type) *jsonschema.Schema {
	s := reflector().ReflectFromType(t)
	s.Version = ""
	return s
}

var one, two = uint64(1), uint64(2)

// JSONSchema implements the interface of package jsonschema, as those below do.
func (word) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

func (plain) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

func (whole) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }

func (flag) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

func (keySet) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: schemaOf(reflect.TypeFor[word]()), MinItems: &two, UniqueItems: true}
}

func (anything) JSONSchema() *jsonschema.Schema { return object() }

func (stepList) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/steps"} }

func (named[T]) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", MinProperties: &one,
		AdditionalProperties: schemaOf(reflect.TypeFor[T]()),
		PropertyNames:        &jsonschema.Schema{Pattern: plainName.String()},
	}
}

func (outcomes) JSONSchema() *jsonschema.Schema {
	ends := make([]string, len(history.StepOutcomes))
	for i, o := range history.StepOutcomes {
		ends[i] = regexp.QuoteMeta(o)
	}
	return &jsonschema.Schema{
		Type: "object", MinProperties: &one, PropertyNames: &jsonschema.Schema{Pattern: plainName.String()},
		AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: "^(" + strings.Join(ends, "|") + "|" + history.StepFound + ".*)$"},
	}
}

func (final) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", MinProperties: &one, AdditionalProperties: schemaOf(reflect.TypeFor[plain]())}
}

// describeWorld fills in what the lock services say of themselves.
func (l *Language) describeWorld(s *jsonschema.Schema) {
	world, clients := object(), object()
	sets := &jsonschema.Schema{
		Type: "object", MinProperties: &one, AdditionalProperties: jsonschema.FalseSchema,
		Properties: jsonschema.NewProperties(), PatternProperties: make(map[string]*jsonschema.Schema),
	}
	for i := range l.Services {
		service := &l.Services[i]
		for _, group := range service.worldGroups() {
			of := world
			if name, is := strings.CutSuffix(group.prefix, "."); is {
				of = property(world, name, object())
				of.Description = map[string]string{storageName: "What the lock is to protect."}[name]
				of.Description = cmp.Or(of.Description, service.About)
			}
			for _, setting := range group.list {
				property(of, setting.Name, schemaFor(setting))
			}
			for _, name := range changeable(group.list) {
				property(sets, group.prefix+name, changed(group.list, name))
			}
		}
		list := service.clientSettings()
		for _, setting := range list {
			before, _ := clients.Properties.Get(setting.Name)
			clients.Properties.Set(setting.Name, ofBoth(before, schemaFor(setting)))
			if setting.Required {
				clients.Required = []string{setting.Name}
			}
		}
		for _, name := range changeable(list) {
			path := `^clients\.(\*|[a-z][a-z0-9-]*)\.` + name + "$"
			sets.PatternProperties[path] = ofBoth(sets.PatternProperties[path], changed(list, name))
		}
	}
	at := func(s *jsonschema.Schema, name string) *jsonschema.Schema { p, _ := s.Properties.Get(name); return p }
	world.Description, sets.Description = at(s, "world").Description, at(at(s, "variants").AdditionalProperties, "set").Description
	s.Properties.Set("world", world)
	at(s, "clients").AdditionalProperties = clients
	at(s, "variants").AdditionalProperties.Properties.Set("set", sets)
}

// ofBoth is the schema of a setting that two services' clients have; before is the first one's; nil: none.
func ofBoth(before, is *jsonschema.Schema) *jsonschema.Schema {
	if before == nil || before.Description == is.Description {
		return is
	}
	both := *before
	both.Description += "\n\n" + is.Description
	for _, value := range is.Enum {
		if !slices.Contains(both.Enum, value) {
			both.Enum = append(slices.Clip(both.Enum), value)
		}
	}
	return &both
}

// object is the schema of a mapping with no keys yet.
func object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
}

// property adds a key, unless it is there, and returns its schema.
func property(s *jsonschema.Schema, name string, is *jsonschema.Schema) *jsonschema.Schema {
	if there, ok := s.Properties.Get(name); ok {
		return there
	}
	s.Properties.Set(name, is)
	return is
}

func schemaFor(s setting.Setting) *jsonschema.Schema {
	is := &jsonschema.Schema{Type: "string", Description: s.About, Pattern: s.Pattern}
	of := func(text string) any { return text }
	switch s.Kind {
	case setting.Number:
		is.Type, of = "integer", func(text string) any { return json.Number(text) }
		if len(s.Of) == 0 {
			is.Minimum = "0"
		}
	case setting.Flag:
		is.Type, of = "boolean", func(text string) any { return text == "true" }
	case setting.Words:
		is.Type, is.Items, is.MinItems = "array", schemaOf(reflect.TypeFor[plain]()), &one
		of = func(string) any { return nil } // there is none by default
	}
	for _, text := range s.Of {
		is.Enum = append(is.Enum, of(text))
	}
	if !s.Required {
		is.Default = of(s.Default)
	}
	return is
}

// changed is the schema of a setting in a variant, which has no default.
func changed(list []setting.Setting, name string) *jsonschema.Schema {
	s, _ := setting.Find(list, name)
	is := schemaFor(s)
	is.Default = nil
	return is
}

func (l *Language) stepDefinitions() jsonschema.Definitions {
	actors, defs := jsonschema.NewProperties(), jsonschema.Definitions{}
	actors.Set(nameOfStep, &jsonschema.Schema{Type: "string", Pattern: plainName.String(), Description: "By which an expectation can speak of the step."})
	for i := range l.Services {
		service := &l.Services[i]
		forms := l.forms(service)
		defs["clientStep"] = stepSchema("A client does …", forms[""])
		for _, actor := range []string{ActorLab, service.Name, ActorClients} {
			name := actor + "Step"
			is := stepSchema(actor+" does …", forms[actor])
			if before, ok := defs[name]; ok {
				is.AnyOf = withoutRepeats(append(before.AnyOf, is.AnyOf...))
			}
			defs[name] = is
			actors.Set(actor, &jsonschema.Schema{Ref: "#/$defs/" + name})
		}
	}
	defs["steps"] = &jsonschema.Schema{
		Type: "array", MinItems: &one,
		Items: &jsonschema.Schema{
			Type: "object", MinProperties: &one, MaxProperties: &two, Description: "ACTOR: what it does; of a client's step also its name",
			AnyOf:      []*jsonschema.Schema{{MaxProperties: &one}, {Required: []string{nameOfStep}}},
			Properties: actors, AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/clientStep"},
			PropertyNames: &jsonschema.Schema{Pattern: plainName.String()},
		},
	}
	return defs
}

// withoutRepeats leaves out the forms that another service has too.
func withoutRepeats(list []*jsonschema.Schema) (once []*jsonschema.Schema) {
	for _, s := range list {
		if !slices.ContainsFunc(once, func(o *jsonschema.Schema) bool { return o.Title == s.Title && o.Pattern == s.Pattern }) {
			once = append(once, s)
		}
	}
	return once
}

func stepSchema(about string, list []*Form) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: about}
	for _, f := range list {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{
			Title: f.Usage, Description: f.About,
			// Not all tools know groups with names.
			Pattern: namedGroup.ReplaceAllString(f.pattern(), "("),
		})
	}
	return s
}

var namedGroup = regexp.MustCompile(`\(\?<[a-z]+>`)
