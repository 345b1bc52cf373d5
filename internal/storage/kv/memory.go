package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Memory is the engine that keeps everything in memory. Values and marks go with the process, together.
type Memory struct {
	account  account
	register register
	flawed   *flawedMarks // is the register; nil: that has no flaw
	// frozen is held at the moment that a snapshot shows, and shared by whatever changes values or marks: a
	// mark and the value that came with it are of one moment.
	frozen  sync.RWMutex
	changed *moment // guarded by frozen; nil: marks are not being copied
	// raising is held while marks are dropped, or copied.
	raising sync.Mutex

	mu    sync.RWMutex
	items *btree.BTree[keyItem] // a snapshot has a copy, which copies only what is changed
	bytes int64                 // of items
}

// keyItem is a key and its value, in the order of keys.
type keyItem struct {
	key string
	Item
}

func (i keyItem) size() int64 { return int64(len(i.key) + len(i.Value)) }

// itemsDegree is half of how many items a node of the tree has at the most.
const itemsDegree = 32

// NewMemory makes an empty engine.
func NewMemory(o Options) *Memory {
	marks := &fence.Register{MaxScopes: o.MaxMarks}
	if o.Observing {
		marks.Bound = o.Bound
	}
	return &Memory{
		account:  account{Options: o},
		register: marks,
		items:    btree.New(itemsDegree, func(a, b keyItem) bool { return a.key < b.key }),
	}
}

// register is a fence.Register, or has its methods.
type register interface {
	Do(context.Context, fence.Claim, func(context.Context) error) error
	Mark(scope string) fence.Mark
	Marks() iter.Seq2[string, fence.Mark]
	Len() int
	Floor() fence.Token
	Raise(floor fence.Token) (dropped int)
}

func (m *Memory) Write(_ context.Context, req Request, ops ...Op) error {
	return m.do(req, ops, func() error { return m.apply(req, ops) })
}

// Read implements Engine. A read has no place in the order within a tenure: done again it does no harm.
func (m *Memory) Read(_ context.Context, req Request, key string) (item Item, err error) {
	req.Sequence = 0
	ops := []Op{{Kind: OpRead, Key: key}}
	look := func() (err error) {
		item, err = m.look(key)
		ops[0].Value = item.Value
		return err
	}
	if req.Token != 0 {
		err = m.do(req, ops, look)
		return item, err
	}
	defer m.account.ordered()()
	err = look()
	m.account.tell(req, ops, err)
	return item, err
}

// do does op, which is ops, if the claim of req is admitted, and tells the observer.
func (m *Memory) do(req Request, ops []Op, op func() error) error {
	err := m.account.checkBound(m.Mark, req.Claim)
	if f := m.flawed; f != nil {
		m.raising.Lock() // one at a time, none while marks are copied: it is not there to be fast
		defer m.raising.Unlock()
		f.deletes = slices.ContainsFunc(ops, func(o Op) bool { return o.Kind == OpDelete })
	}
	defer m.account.ordered()()
	var would error
	if err == nil {
		would, err = m.admit(req.Claim, op)
	}
	if err == nil && fencehttp.ReasonOf(would) != "" {
		m.account.tell(req, ops, would)
		return nil
	}
	m.account.tell(req, ops, err)
	return err
}

// admit does op, if c is admitted, or would be refused while tokens are observed.
func (m *Memory) admit(c fence.Claim, op func() error) (would, err error) {
	if m.account.Unfenced {
		return nil, op()
	}
	var marks fence.Guard = m.register
	if m.account.Observing {
		marks = fence.Observe(marks, func(_ context.Context, _ fence.Claim, refused error) { would = refused })
	}
	m.frozen.RLock()
	defer m.frozen.RUnlock()
	m.changed.keep(c.Scope, m.register.Mark)
	// An operation takes no time that is worth giving up.
	err = marks.Do(context.Background(), c, func(context.Context) error { return op() })
	if errors.Is(err, fence.ErrTooManyScopes) {
		return nil, m.account.tooManyMarks()
	}
	return would, err
}

func (m *Memory) Mark(_ context.Context, scope string) (fence.Mark, error) {
	return m.register.Mark(scope), nil
}

func (m *Memory) Floor(context.Context) (fence.Token, error) { return m.register.Floor(), nil }

func (m *Memory) Raise(_ context.Context, floor fence.Token) (int, error) {
	if f := m.flawed; f != nil {
		return 0, fence.Definite.Wrap(fmt.Errorf("%w: a storage with the flaw %q has no floor", errors.ErrUnsupported, f.flaw))
	}
	m.raising.Lock()
	defer m.raising.Unlock()
	return m.register.Raise(floor), nil
}

func (m *Memory) Stats(context.Context) (Stats, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Stats{Keys: int64(m.items.Len()), Bytes: m.bytes, Marks: int64(m.register.Len())}, nil
}

func (m *Memory) Ready(context.Context) error { return nil }
func (m *Memory) Close() error                { return nil }

func (m *Memory) apply(req Request, ops []Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := func(key string) bool { return m.items.Has(keyItem{key: key}) }
	if err := m.account.room(int64(m.items.Len()), ops, known); err != nil {
		return err
	}
	for _, op := range ops {
		var old, item keyItem
		if op.Kind == OpDelete {
			old, _ = m.items.Delete(keyItem{key: op.Key})
		} else {
			// A key is often a piece of a whole request, which must not live on.
			item = keyItem{strings.Clone(op.Key), Item{Value: op.Value, Token: req.Token}}
			old, _ = m.items.ReplaceOrInsert(item)
		}
		m.bytes += item.size() - old.size()
	}
	return nil
}

func (m *Memory) look(key string) (Item, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := m.items.Get(keyItem{key: key})
	if !ok {
		return Item{}, ErrNotFound
	}
	return i.Item, nil
}

// Snapshot implements Engine. Writers wait only while it begins. What visit sees is what was there when it began.
func (m *Memory) Snapshot(_ context.Context, visit func(Entry) error) error {
	floor, marks, items := m.begin()
	if err := visitFloor(floor, visit); err != nil {
		return err
	}
	for _, s := range marks {
		if err := visitMark(s.scope, s.mark, floor, visit); err != nil {
			return err
		}
	}
	var err error
	items.Ascend(func(i keyItem) bool {
		err = visit(itemEntry(i.key, i.Item))
		return err == nil
	})
	return err
}

func (m *Memory) begin() (floor fence.Token, marks []scopeMark, items *btree.BTree[keyItem]) {
	m.raising.Lock() // a mark that is dropped could not be copied
	defer m.raising.Unlock()
	now := m.freeze()
	floor = m.register.Floor()
	return floor, m.copyMarks(now, floor), now.items
}

// freeze is the moment that the snapshot shows.
func (m *Memory) freeze() *moment {
	m.frozen.Lock()
	defer m.frozen.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = &moment{items: m.items.Clone(), before: make(map[string]fence.Mark)}
	return m.changed
}

// copyMarks copies the marks as they were at a moment.
func (m *Memory) copyMarks(then *moment, floor fence.Token) []scopeMark {
	marks := make([]scopeMark, 0, m.register.Len())
	for scope, mark := range m.register.Marks() {
		marks = append(marks, scopeMark{scope, mark})
	}
	m.frozen.Lock()
	m.changed = nil
	m.frozen.Unlock()
	return then.undo(marks, floor)
}

type scopeMark struct {
	scope string
	mark  fence.Mark
}

// moment has the values of a moment, and the marks that may have changed while they were copied, as they were before.
type moment struct {
	items  *btree.BTree[keyItem]
	mu     sync.Mutex
	before map[string]fence.Mark
}

// keep keeps the mark of a scope, which mark tells, before its first change. On nil it does nothing.
func (c *moment) keep(scope string, mark func(string) fence.Mark) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, kept := c.before[scope]; !kept {
		c.before[scope] = mark(scope)
	}
}

// undo makes of marks, a copy, what they were before the changes. A scope whose mark
// was the floor had none of its own, or one that said no more.
func (c *moment) undo(marks []scopeMark, floor fence.Token) []scopeMark {
	none := fence.Mark{Token: floor}
	undone := marks[:0]
	for _, s := range marks {
		before, changed := c.before[s.scope]
		switch {
		case !changed:
			undone = append(undone, s)
		case before != none:
			undone = append(undone, scopeMark{s.scope, before})
		}
	}
	return undone
}
