package kv

import (
	"context"
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Snapshot implements Engine. Writers wait only while it begins. What visit sees is what
// was there when it began.
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

// moment has the values of a moment, and the marks that may have changed while they were
// copied, as they were before.
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
