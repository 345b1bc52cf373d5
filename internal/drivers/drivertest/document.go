package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// Document is the smallest store on a driver that keeps the data of a scope as one: they are its keys, in JSON.
type Document struct {
	Name   string // of the place of all documents
	Change func(ctx context.Context, c fence.Claim, edit func(data []byte) ([]byte, error)) error
	Look   func(ctx context.Context, scope string) ([]byte, fence.Mark, error)
}

func keys(data []byte) (map[string]string, error) {
	all := make(map[string]string)
	if data == nil {
		return all, nil
	}
	return all, json.Unmarshal(data, &all)
}

// edit changes the keys of a scope.
func (d Document) edit(ctx context.Context, c fence.Claim, edit func(map[string]string) error) error {
	return d.Change(ctx, c, func(data []byte) ([]byte, error) {
		all, err := keys(data)
		if err != nil {
			return nil, err
		}
		if err := edit(all); err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, nil
		}
		return json.Marshal(all)
	})
}

// Write is as fencetest.Store says.
func (d Document) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return d.edit(ctx, c, func(all map[string]string) error {
		all[key] = value
		return nil
	})
}

// Delete is as fencetest.Store says.
func (d Document) Delete(ctx context.Context, c fence.Claim, key string) error {
	return d.edit(ctx, c, func(all map[string]string) error {
		delete(all, key)
		return nil
	})
}

// Read is as fencetest.Store says.
func (d Document) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	found := make(map[string]string)
	if c.Token == 0 {
		data, _, err := d.Look(ctx, c.Scope)
		if err != nil {
			return "", false, err
		}
		found, err = keys(data)
		if err != nil {
			return "", false, err
		}
	} else if err := d.edit(ctx, c, func(all map[string]string) error {
		found = maps.Clone(all)
		return nil
	}); err != nil {
		return "", false, err
	}
	value, ok = found[key]
	return value, ok, nil
}

// FailDocument is a write that fails after it has changed what it was given.
func FailDocument(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	return s.(Document).edit(ctx, c, func(all map[string]string) error {
		all[key] = value
		return errors.New("half done")
	})
}
