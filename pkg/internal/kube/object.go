package kube

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Object is an object whose fields stay as they are, but for those that are set.
type Object struct {
	Version     string // resourceVersion; "": it is to be created
	Labels      map[string]string
	Annotations map[string]string

	fields, metadata map[string]json.RawMessage
}

// Parse reads an object in JSON; nil: one that has nothing. The errors are definite.
func Parse(text []byte) (*Object, error) {
	o := &Object{Labels: make(map[string]string), Annotations: make(map[string]string), fields: make(map[string]json.RawMessage), metadata: make(map[string]json.RawMessage)}
	if text == nil {
		return o, nil
	}
	for _, read := range []func() error{
		func() error { return whole(text, &o.fields) },
		func() error { return part(o.fields, "metadata", &o.metadata) },
		func() error { return part(o.metadata, "labels", &o.Labels) },
		func() error { return part(o.metadata, "annotations", &o.Annotations) },
		func() error { return part(o.metadata, "resourceVersion", &o.Version) },
	} {
		if err := read(); err != nil {
			return nil, fence.Definite.Wrap(fmt.Errorf("%.200q is no object of Kubernetes: %w", text, err))
		}
	}
	return o, nil
}

var errNull = errors.New("it is null")

func whole(text []byte, fields *map[string]json.RawMessage) error {
	if err := json.Unmarshal(text, fields); err != nil {
		return err
	}
	if *fields == nil {
		return errNull
	}
	return nil
}

// part reads a field into v, if it is there.
func part(fields map[string]json.RawMessage, name string, v any) error {
	if text := fields[name]; text != nil && string(text) != "null" {
		return json.Unmarshal(text, v)
	}
	return nil
}

// Field reads a field into v, if it is there. The errors are definite.
func (o *Object) Field(name string, v any) error {
	if err := part(o.fields, name, v); err != nil {
		return fence.Definite.Wrap(fmt.Errorf("the field %s: %w", name, err))
	}
	return nil
}

// Set sets a field. The errors are definite.
func (o *Object) Set(name string, v any) error { return set(o.fields, name, v) }

// Text is the object in JSON, with a name. The errors are definite.
func (o *Object) Text(name string) ([]byte, error) {
	for key, v := range map[string]any{"name": name, "labels": o.Labels, "annotations": o.Annotations, "resourceVersion": o.Version} {
		if err := set(o.metadata, key, v); err != nil {
			return nil, err
		}
	}
	if err := o.Set("metadata", o.metadata); err != nil {
		return nil, err
	}
	text, err := json.Marshal(o.fields)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	return text, nil
}

func set(fields map[string]json.RawMessage, name string, v any) (err error) {
	if fields[name], err = json.Marshal(v); err != nil {
		return fence.Definite.Wrap(fmt.Errorf("the field %s: %w", name, err))
	}
	return nil
}
