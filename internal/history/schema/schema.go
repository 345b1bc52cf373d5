// Package schema has the JSON schemas of histories, and of what clients and lock services say.
package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Of is the JSON schema (draft 2020-12) of a line of a history, without what takes more than one line, and
// without the rule that no field may stand twice.
func Of() ([]byte, error) {
	s := schemaOf(slices.Sorted(maps.Keys(history.Kinds)))
	s.Title = "a line of a fencelab history"
	s.Description = "The first line is of kind run, the last one of kind end. docs/histories.md says what the fields mean."
	return written(s)
}

// OfAgent is the JSON schema of a line that a client says, without what takes more than one line.
func OfAgent() ([]byte, error) {
	s := schemaOf(history.ClientKinds)
	s.Title = "a line that a client of fencelab says"
	s.Description = "at is in nanoseconds since 1970. docs/agent.md says which lines answer which command."
	s.Required = append(s.Required, "client")
	granted := &jsonschema.Schema{If: with("op", history.OpLock, history.OpTryLock), Then: filled("scope", "tenure")}
	s.AllOf = append(s.AllOf,
		&jsonschema.Schema{If: with("kind", history.KindOK), Then: &jsonschema.Schema{AllOf: []*jsonschema.Schema{granted}}},
		&jsonschema.Schema{If: with("kind", history.KindError), Then: filled("text")},
	)
	for _, field := range othersFields {
		s.Properties.Set(field, jsonschema.FalseSchema)
	}
	return written(s)
}

// OfLockService is the schema of a line of a user's lock service, without what takes more than one.
func OfLockService() ([]byte, error) {
	s := reflector.Reflect(&history.Event{})
	s.Title = "a line that a lock service for fencelab says"
	s.Description = "at is in nanoseconds since 1970. docs/your-lock-service.md says when a line is due."
	all := s.Properties
	s.Properties = jsonschema.NewProperties()
	for _, field := range []string{"at", "kind", "scope", "tenure", "token", "mode", "cause", "text"} {
		property, _ := all.Get(field)
		s.Properties.Set(field, property)
	}
	s.Properties.Set("kind", &jsonschema.Schema{Type: "string", Enum: anyOf([]history.Kind{history.KindGranted, history.KindEnded})})
	s.Required = []string{"at", "kind", "scope", "tenure"}
	ends := having(jsonschema.FalseSchema, "token", "mode")
	ends.Required = []string{"cause"}
	ends.Properties.Set("cause", &jsonschema.Schema{Enum: anyOf(history.Kinds[history.KindEnded].Causes)})
	s.AllOf = []*jsonschema.Schema{
		filled("scope", "tenure"),
		{If: with("kind", history.KindGranted), Then: having(jsonschema.FalseSchema, "cause", "text")},
		{If: with("kind", history.KindEnded), Then: ends},
	}
	return written(s)
}

// having is where fields are so, if they are there.
func having(is *jsonschema.Schema, fields ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	for _, field := range fields {
		s.Properties.Set(field, is)
	}
	return s
}

// othersFields are those of an event that no client has.
var othersFields = []string{"run", "index", "step"}

func schemaOf(kinds []history.Kind) *jsonschema.Schema {
	s := reflector.Reflect(&history.Event{})
	s.Properties.Set("kind", &jsonschema.Schema{Type: "string", Enum: anyOf(kinds)})
	for _, kind := range kinds {
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: with("kind", kind), Then: needs(kind)})
	}
	return s
}

func written(s *jsonschema.Schema) ([]byte, error) {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of histories: %w", err)
	}
	return append(b, '\n'), nil
}

// filled is where fields are there and not empty.
func filled(fields ...string) *jsonschema.Schema {
	s := having(&jsonschema.Schema{MinLength: &one}, fields...)
	s.Required = fields
	return s
}

var one = uint64(1)

var reflector = &jsonschema.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[fence.Token]():
		return &jsonschema.Schema{Type: "string", Pattern: "^[1-9][0-9]{0,18}$", Description: "from 1 to 2^63-1, in decimal"}
	case reflect.TypeFor[fence.Mode]():
		return &jsonschema.Schema{Type: "string", Enum: []any{fence.Exclusive.String(), fence.Shared.String()}}
	}
	return nil
}}

// needs is what a kind needs, beside what all lines have.
func needs(kind history.Kind) *jsonschema.Schema {
	n := history.Kinds[kind]
	s := having(nil)
	need := func(field string, values ...string) {
		s.Required = append(s.Required, field)
		property := &jsonschema.Schema{}
		if len(values) > 0 {
			property.Enum = anyOf(values)
		} else if field != "run" {
			property.MinLength = &one
		}
		s.Properties.Set(field, property)
	}
	if kind == history.KindRun {
		need("run")
	} else {
		s.Properties.Set("run", jsonschema.FalseSchema)
	}
	if n.Storage {
		need("lane", history.LaneStorage)
		need("key")
	}
	if n.Tenure {
		need("tenure")
	}
	if n.Lock {
		need("client")
		need("scope")
	}
	if n.Ops != nil {
		need("op", n.Ops...)
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: with("op", history.StorageOps...), Then: &jsonschema.Schema{Required: []string{"key"}}})
	}
	if n.Reasons != nil {
		need("reason", n.Reasons...)
	}
	if n.Causes != nil {
		s.Properties.Set("cause", &jsonschema.Schema{Enum: anyOf(n.Causes)})
	}
	if kind == history.KindInvoke {
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: with("op", history.OpChange), Then: &jsonschema.Schema{Required: []string{"changes"}}})
	}
	return s
}

// with is where a field is there and has one of some values.
func with[T ~string](field string, values ...T) *jsonschema.Schema {
	s := having(&jsonschema.Schema{Enum: anyOf(values)}, field)
	s.Required = []string{field}
	return s
}

func anyOf[T ~string](values []T) (list []any) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}
