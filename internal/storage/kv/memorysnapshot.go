package kv

import (
	"context"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Snapshot implements Engine. Writers wait while it begins, and while one part of
// the values is copied. What visit sees is what was there when it began: who
// changes a part that visit has not seen yet keeps a copy of the part first.
func (m *Memory) Snapshot(_ context.Context, visit func(Entry) error) error {
	m.snapshot.Lock()
	defer m.snapshot.Unlock()
	floor, marks := m.begin()
	defer m.end()
	if err := visitFloor(floor, visit); err != nil {
		return err
	}
	for _, s := range marks {
		if err := visitMark(s.scope, s.mark, floor, visit); err != nil {
			return err
		}
	}
	for part := 0; part < itemParts; {
		var copied []keyItem
		copied, part = m.copied(part)
		for _, i := range copied {
			if err := visit(itemEntry(i.key, i.item)); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins a snapshot, with its floor and marks. The caller holds m.snapshot,
// and calls end.
func (m *Memory) begin() (floor fence.Token, marks []scopeMark) {
	m.raising.Lock() // a mark that is dropped could not be copied
	defer m.raising.Unlock()
	changed := m.freeze()
	floor = m.register.Floor()
	return floor, m.copyMarks(changed, floor)
}

// copyMarks copies the marks as they were when changed began.
func (m *Memory) copyMarks(changed *changedMarks, floor fence.Token) []scopeMark {
	marks := make([]scopeMark, 0, m.register.Len())
	for scope, mark := range m.register.Marks() {
		marks = append(marks, scopeMark{scope, mark})
	}
	m.frozen.Lock()
	m.changed = nil
	m.frozen.Unlock()
	return changed.undo(marks, floor)
}

// freeze is the moment that the snapshot shows.
func (m *Memory) freeze() *changedMarks {
	m.frozen.Lock()
	defer m.frozen.Unlock()
	m.changed = &changedMarks{before: make(map[string]fence.Mark)}
	m.copyItems(new(itemsCopy))
	return m.changed
}

// end forgets the parts that nobody has seen.
func (m *Memory) end() { m.copyItems(nil) }

func (m *Memory) copyItems(to *itemsCopy) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items.copy = to
}

// enough is how many values are copied while writers wait, if no part has more.
const enough = 1000

// copied has the values from a part on as they were when the snapshot began, up to
// the part next. A part can be asked for once.
func (m *Memory) copied(part int) (copied []keyItem, next int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for next = part; next < itemParts && len(copied) < enough; next++ {
		m.items.keep(next)
		copied = append(copied, m.items.copy.parts[next]...)
		m.items.copy.parts[next] = nil
	}
	return copied, next
}

// scopeMark is the mark of a scope.
type scopeMark struct {
	scope string
	mark  fence.Mark
}

// changedMarks has the marks that may have changed while they were copied, as they
// were before.
type changedMarks struct {
	mu     sync.Mutex
	before map[string]fence.Mark
}

// keep keeps the mark of a scope, which mark tells, before its first change. On nil
// it does nothing.
func (c *changedMarks) keep(scope string, mark func(string) fence.Mark) {
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
func (c *changedMarks) undo(marks []scopeMark, floor fence.Token) []scopeMark {
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
