package kv

import (
	"hash/maphash"
	"strings"
)

// itemParts is how many parts the values are in. It bounds how many a write waits
// for: a snapshot copies one part at a time, of a million keys about a thousand.
const itemParts = 1024

// items are the values of Memory, which guards them.
type items struct {
	parts [itemParts]map[string]Item
	keys  int64
	bytes int64      // of keys and values
	copy  *itemsCopy // nil: no snapshot is under way
}

// itemsCopy has the parts that a snapshot has copied and not shown yet.
type itemsCopy struct {
	parts [itemParts][]keyItem
	done  [itemParts]bool // is copied, and may have been shown
}

type keyItem struct {
	key  string
	item Item
}

var itemsSeed = maphash.MakeSeed()

func partOf(key string) int { return int(maphash.String(itemsSeed, key) % itemParts) }

func (t *items) get(key string) (item Item, ok bool) {
	item, ok = t.parts[partOf(key)][key]
	return item, ok
}

func (t *items) put(key string, item Item) {
	part := partOf(key)
	t.keep(part)
	old, known := t.parts[part][key]
	switch {
	case known:
		t.bytes -= int64(len(old.Value))
	default:
		if t.parts[part] == nil {
			t.parts[part] = make(map[string]Item)
		}
		// A key is often a piece of a whole request, which must not live on.
		key = strings.Clone(key)
		t.keys++
		t.bytes += int64(len(key))
	}
	t.bytes += int64(len(item.Value))
	t.parts[part][key] = item
}

func (t *items) remove(key string) {
	part := partOf(key)
	old, known := t.parts[part][key]
	if !known {
		return
	}
	t.keep(part)
	delete(t.parts[part], key)
	t.keys--
	t.bytes -= int64(len(key) + len(old.Value))
}

// keep copies a part for the snapshot that is under way, if it has not been copied.
func (t *items) keep(part int) {
	if t.copy == nil || t.copy.done[part] {
		return
	}
	t.copy.done[part] = true
	copied := make([]keyItem, 0, len(t.parts[part]))
	for key, item := range t.parts[part] {
		copied = append(copied, keyItem{key, item})
	}
	t.copy.parts[part] = copied
}
