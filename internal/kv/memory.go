package kv

import (
	"context"
	"errors"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Memory is the engine that keeps everything in memory. Values and marks go
// with the process, together.
type Memory struct {
	register fence.Register
	// frozen is held at the moment that a snapshot shows, and shared by whatever
	// changes values or marks: a mark and the value that came with it are of one
	// moment.
	frozen  sync.RWMutex
	changed *changedMarks // guarded by frozen; nil: marks are not being copied
	// raising is held while marks are dropped, or copied.
	raising  sync.Mutex
	snapshot sync.Mutex // one at a time
	// order makes the observer's order that of the checks; only taken where there is
	// an observer.
	order sync.Mutex

	mu      sync.RWMutex
	items   items
	account account // guarded by mu, but for its options
}

// NewMemory makes an empty engine.
func NewMemory(o Options) *Memory {
	m := &Memory{account: account{Options: o}}
	m.register.MaxScopes = o.MaxMarks
	return m
}

// Write implements Engine.
func (m *Memory) Write(_ context.Context, req Request, ops ...Op) error {
	return m.do(req, ops, func() error { return m.apply(req, ops) })
}

// do does op, one of ops, if the claim of req is admitted. Otherwise it tells the
// observer.
func (m *Memory) do(req Request, ops []Op, op func() error) error {
	err := m.account.checkBound(m.Mark, req.Claim)
	if m.account.Observe != nil {
		m.order.Lock()
		defer m.order.Unlock()
	}
	if err == nil {
		err = m.admit(req.Claim, op)
	}
	if err != nil {
		m.notDone(req, err, ops)
	}
	return err
}

// admit does op, if c is admitted.
func (m *Memory) admit(c fence.Claim, op func() error) error {
	if m.account.Unfenced {
		return op()
	}
	m.frozen.RLock()
	defer m.frozen.RUnlock()
	m.changed.keep(c.Scope, m.register.Mark)
	// An operation takes no time that is worth giving up.
	err := m.register.Do(context.Background(), c, func(context.Context) error { return op() })
	if errors.Is(err, fence.ErrTooManyScopes) {
		return m.account.tooManyMarks()
	}
	return err
}

// Read implements Engine. A read has no place in the order within a tenure:
// done again it does no harm.
func (m *Memory) Read(_ context.Context, req Request, key string) (item Item, err error) {
	var ok bool
	look := func() error { item, ok = m.look(req, key); return nil }
	req.Sequence = 0
	if req.Token == 0 {
		err = look()
	} else {
		err = m.do(req, []Op{{Kind: OpRead, Key: key}}, look)
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

// Floor implements Engine.
func (m *Memory) Floor(context.Context) (fence.Token, error) { return m.register.Floor(), nil }

// Raise implements Engine.
func (m *Memory) Raise(_ context.Context, floor fence.Token) (int, error) {
	m.raising.Lock()
	defer m.raising.Unlock()
	return m.register.Raise(floor), nil
}

// Stats implements Engine.
func (m *Memory) Stats(context.Context) (Stats, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Stats{Keys: m.items.keys, Bytes: m.items.bytes, Marks: int64(m.register.Len())}, nil
}

// Ready implements Engine.
func (m *Memory) Ready(context.Context) error { return nil }

// Close implements Engine.
func (m *Memory) Close() error { return nil }

func (m *Memory) apply(req Request, ops []Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := func(key string) bool { _, ok := m.items.get(key); return ok }
	if err := m.account.room(m.items.keys, ops, known); err != nil {
		return err
	}
	for _, op := range ops {
		if op.Kind == OpDelete {
			m.items.remove(op.Key)
		} else {
			m.items.put(op.Key, Item{Value: op.Value, Token: req.Token})
		}
		m.account.tell(req, op, nil)
	}
	return nil
}

func (m *Memory) look(req Request, key string) (Item, bool) {
	if m.account.Observe == nil {
		m.mu.RLock()
		defer m.mu.RUnlock()
		item, ok := m.items.get(key)
		return item, ok
	}
	m.mu.Lock() // the observer wants reads in order, too
	defer m.mu.Unlock()
	item, ok := m.items.get(key)
	var err error
	if !ok {
		err = ErrNotFound
	}
	m.account.tell(req, Op{Kind: OpRead, Key: key, Value: item.Value}, err)
	return item, ok
}

// notDone tells the observer of what did not take place.
func (m *Memory) notDone(req Request, err error, ops []Op) {
	if m.account.Observe == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range ops {
		m.account.tell(req, op, err)
	}
}
