package kv

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// MemoryOptions are set before the engine is used.
type MemoryOptions struct {
	// Unfenced: tokens are not checked. The control, to see what goes wrong.
	Unfenced bool
	// Bound is that of fence.Register.
	Bound func(fence.Claim) (fence.Token, error)
	// Observe is told of every operation that took place or was refused, in the
	// order in which they did. It is called under the engine's lock. Nil: nobody
	// wants to know.
	Observe func(Record)
}

// Memory is the engine that keeps everything in memory. Values and marks go
// with the process, together.
type Memory struct {
	unfenced bool
	register fence.Register
	observe  func(Record)

	mu    sync.RWMutex
	items map[string]Item
	index int64 // of the last record
}

// NewMemory makes an empty engine.
func NewMemory(o MemoryOptions) *Memory {
	m := &Memory{unfenced: o.Unfenced, observe: o.Observe, items: make(map[string]Item)}
	m.register.Bound = o.Bound
	return m
}

// Write implements Engine.
func (m *Memory) Write(_ context.Context, req Request, ops ...Op) error {
	if m.unfenced {
		m.apply(req, ops)
		return nil
	}
	err := m.register.Do(req.Claim, func() error { m.apply(req, ops); return nil })
	if err != nil {
		for _, op := range ops {
			m.refused(req, op, err)
		}
	}
	return err
}

// Read implements Engine. A read has no place in the order within a tenure:
// done again it does no harm.
func (m *Memory) Read(_ context.Context, req Request, key string) (item Item, err error) {
	var ok bool
	look := func() error { item, ok = m.look(req, key); return nil }
	req.Sequence = 0
	if m.unfenced || req.Token == 0 {
		err = look()
	} else if err = m.register.Do(req.Claim, look); err != nil {
		m.refused(req, Op{Kind: OpRead, Key: key}, err)
	}
	if err == nil && !ok {
		err = ErrNotFound
	}
	return item, err
}

// Mark implements Engine.
func (m *Memory) Mark(_ context.Context, scope string) (fence.Mark, error) {
	return m.register.Mark(scope), nil
}

func (m *Memory) apply(req Request, ops []Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range ops {
		if op.Kind == OpDelete {
			delete(m.items, op.Key)
		} else {
			if _, known := m.items[op.Key]; !known {
				// A key is often a piece of a whole request, which must not live on.
				op.Key = strings.Clone(op.Key)
			}
			m.items[op.Key] = Item{Value: op.Value, Token: req.Token}
		}
		m.applied(req, op, false)
	}
}

func (m *Memory) look(req Request, key string) (Item, bool) {
	if m.observe == nil {
		m.mu.RLock()
		defer m.mu.RUnlock()
		item, ok := m.items[key]
		return item, ok
	}
	m.mu.Lock() // the observer wants reads in order, too
	defer m.mu.Unlock()
	item, ok := m.items[key]
	m.applied(req, Op{Kind: OpRead, Key: key, Value: item.Value}, !ok)
	return item, ok
}

// applied tells the observer; the caller holds m.mu.
func (m *Memory) applied(req Request, op Op, missing bool) {
	if m.observe == nil {
		return
	}
	m.index++
	mark := req.Token // what was admitted is the mark
	if m.unfenced {
		mark = 0
	}
	m.observe(Record{Index: m.index, Request: req, Op: op, Missing: missing, Mark: mark})
}

// refused tells the observer, where err is a refusal.
func (m *Memory) refused(req Request, op Op, err error) {
	if m.observe == nil || errors.Is(err, fence.ErrDuplicate) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index++
	m.observe(Record{Index: m.index, Request: req, Op: op, Err: err})
}
