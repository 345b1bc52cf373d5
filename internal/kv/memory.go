package kv

import (
	"context"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Memory is the engine that keeps everything in memory. Values and marks go
// with the process, together.
type Memory struct {
	register fence.Register

	mu      sync.RWMutex
	items   map[string]Item
	account account // guarded by mu
}

// NewMemory makes an empty engine.
func NewMemory(o Options) *Memory {
	m := &Memory{items: make(map[string]Item), account: account{Options: o}}
	m.register.Bound = o.Bound
	return m
}

// Write implements Engine.
func (m *Memory) Write(_ context.Context, req Request, ops ...Op) error {
	if m.account.Unfenced {
		m.apply(req, ops)
		return nil
	}
	err := m.register.Do(req.Claim, func() error { m.apply(req, ops); return nil })
	if err != nil {
		m.refused(req, err, ops...)
	}
	return err
}

// Read implements Engine. A read has no place in the order within a tenure:
// done again it does no harm.
func (m *Memory) Read(_ context.Context, req Request, key string) (item Item, err error) {
	var ok bool
	look := func() error { item, ok = m.look(req, key); return nil }
	req.Sequence = 0
	if m.account.Unfenced || req.Token == 0 {
		err = look()
	} else if err = m.register.Do(req.Claim, look); err != nil {
		m.refused(req, err, Op{Kind: OpRead, Key: key})
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
		m.account.tell(req, op, nil)
	}
}

func (m *Memory) look(req Request, key string) (Item, bool) {
	if m.account.Observe == nil {
		m.mu.RLock()
		defer m.mu.RUnlock()
		item, ok := m.items[key]
		return item, ok
	}
	m.mu.Lock() // the observer wants reads in order, too
	defer m.mu.Unlock()
	item, ok := m.items[key]
	var err error
	if !ok {
		err = ErrNotFound
	}
	m.account.tell(req, Op{Kind: OpRead, Key: key, Value: item.Value}, err)
	return item, ok
}

// refused tells the observer.
func (m *Memory) refused(req Request, err error, ops ...Op) {
	if m.account.Observe == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range ops {
		m.account.tell(req, op, err)
	}
}
