package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// boltTree goes through all pages of a bbolt file before bbolt does, which panics at some that
// are damaged, and takes others for what they are not. Every page is in use once, or free; keys
// are in order, and where the pages above look for them.
//
// It knows nothing of what keys and values mean: these have checksums.
type boltTree struct {
	file io.ReaderAt
	size uint64 // of a page, in bytes
	seen []bool // by page: it is in use, or free
}

// What the header of a page says that it is, and an element of a leaf.
const (
	boltBranch   = 1
	boltLeaf     = 2
	boltFreelist = 16
	boltBucket   = 1
	boltElement  = 16 // bytes
	boltMany     = 0xFFFF
	boltNoList   = ^uint64(0)
)

// boltPage is a page with those that it runs over into.
type boltPage struct {
	id    uint64
	kind  uint16
	count int
	bytes []byte
}

// checkBoltTree checks the pages that a meta page leads to.
func checkBoltTree(file io.ReaderAt, m boltMeta) error {
	t := &boltTree{file: file, size: uint64(m.PageSize), seen: make([]bool, m.Pages)}
	if m.Pages < 2 {
		return fmt.Errorf("it has %d pages", m.Pages)
	}
	t.seen[0], t.seen[1] = true, true // the meta pages
	if err := t.walk(m.Root, nil, nil); err != nil {
		return err
	}
	if m.Freelist == boltNoList {
		return nil
	}
	if err := t.free(m.Freelist); err != nil {
		return err
	}
	for id, seen := range t.seen {
		if !seen {
			return fmt.Errorf("page %d is neither in use nor free", id)
		}
	}
	return nil
}

// see takes a page, which nobody may have taken before.
func (t *boltTree) see(id uint64) error {
	if id >= uint64(len(t.seen)) || t.seen[id] {
		return fmt.Errorf("page %d is in use twice, or behind the end", id)
	}
	t.seen[id] = true
	return nil
}

// page reads a page whole.
func (t *boltTree) page(id uint64) (p boltPage, err error) {
	if err := t.see(id); err != nil {
		return p, err
	}
	head := make([]byte, boltHeader)
	if _, err := t.file.ReadAt(head, int64(id*t.size)); err != nil {
		return p, err
	}
	over := uint64(binary.NativeEndian.Uint32(head[12:]))
	for i := range over {
		if err := t.see(id + 1 + i); err != nil {
			return p, err
		}
	}
	b := make([]byte, (1+over)*t.size)
	if _, err := t.file.ReadAt(b, int64(id*t.size)); err != nil {
		return p, err
	}
	p, err = parseBoltPage(b)
	if err == nil && p.id != id {
		err = fmt.Errorf("page %d says that it is page %d", id, p.id)
	}
	return p, err
}

func parseBoltPage(b []byte) (p boltPage, err error) {
	if len(b) < boltHeader {
		return p, fmt.Errorf("a page of %d bytes", len(b))
	}
	p = boltPage{
		id: binary.NativeEndian.Uint64(b), kind: binary.NativeEndian.Uint16(b[8:]),
		count: int(binary.NativeEndian.Uint16(b[10:])), bytes: b,
	}
	if p.kind != boltFreelist && boltHeader+p.count*boltElement > len(b) {
		err = fmt.Errorf("page %d has no room for %d elements", p.id, p.count)
	}
	return p, err
}

// span is a piece of the page, which begins so many bytes behind the head of an element.
func (p boltPage) span(element int, at, n uint64) ([]byte, error) {
	from := uint64(boltHeader+element*boltElement) + at
	if from+n > uint64(len(p.bytes)) {
		return nil, fmt.Errorf("element %d of page %d is behind the end of the page", element, p.id)
	}
	return p.bytes[from : from+n], nil
}

// walk checks a page and those below it, whose keys are from low on, and below high; nil: there
// is no bound.
func (t *boltTree) walk(id uint64, low, high []byte) error {
	p, err := t.page(id)
	if err != nil {
		return err
	}
	switch p.kind {
	case boltLeaf:
		return t.leaf(p, low, high)
	case boltBranch:
		return t.branch(p, low, high)
	}
	return fmt.Errorf("page %d is of kind %d, and no page of a tree", id, p.kind)
}

func (t *boltTree) branch(p boltPage, low, high []byte) error {
	if p.count == 0 {
		return fmt.Errorf("page %d leads nowhere", p.id)
	}
	keys, below := make([][]byte, p.count), make([]uint64, p.count)
	for i := range p.count {
		e := p.bytes[boltHeader+i*boltElement:]
		key, err := p.span(i, uint64(binary.NativeEndian.Uint32(e)), uint64(binary.NativeEndian.Uint32(e[4:])))
		if err != nil {
			return err
		}
		keys[i], below[i] = key, binary.NativeEndian.Uint64(e[8:])
	}
	if err := p.ordered(keys, low, high); err != nil {
		return err
	}
	for i, key := range keys {
		end := high
		if i+1 < len(keys) {
			end = keys[i+1]
		}
		if err := t.walk(below[i], key, end); err != nil {
			return err
		}
	}
	return nil
}

func (t *boltTree) leaf(p boltPage, low, high []byte) error {
	keys := make([][]byte, p.count)
	for i := range p.count {
		e := p.bytes[boltHeader+i*boltElement:]
		kind, at := binary.NativeEndian.Uint32(e), uint64(binary.NativeEndian.Uint32(e[4:]))
		size := uint64(binary.NativeEndian.Uint32(e[8:]))
		key, err := p.span(i, at, size)
		if err != nil {
			return err
		}
		value, err := p.span(i, at+size, uint64(binary.NativeEndian.Uint32(e[12:])))
		if err != nil {
			return err
		}
		keys[i] = key
		switch kind {
		case 0:
		case boltBucket:
			err = t.bucket(value)
		default:
			err = fmt.Errorf("element %d of page %d is of kind %d", i, p.id, kind)
		}
		if err != nil {
			return err
		}
	}
	return p.ordered(keys, low, high)
}

// bucket is the tree of a bucket, in pages of its own or behind its head.
func (t *boltTree) bucket(b []byte) error {
	if len(b) < boltHeader {
		return fmt.Errorf("a bucket of %d bytes", len(b))
	}
	if root := binary.NativeEndian.Uint64(b); root != 0 {
		return t.walk(root, nil, nil)
	}
	p, err := parseBoltPage(b[boltHeader:])
	if err != nil {
		return err
	}
	if p.kind != boltLeaf {
		return fmt.Errorf("a bucket's page is of kind %d", p.kind)
	}
	return t.leaf(p, nil, nil)
}

func (p boltPage) ordered(keys [][]byte, low, high []byte) error {
	for i, key := range keys {
		if i > 0 && bytes.Compare(keys[i-1], key) >= 0 || bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return fmt.Errorf("element %d of page %d is not in order", i, p.id)
		}
	}
	return nil
}

// free takes the pages of the list of free pages, and those in it.
func (t *boltTree) free(id uint64) error {
	p, err := t.page(id)
	if err != nil {
		return err
	}
	if p.kind != boltFreelist {
		return fmt.Errorf("page %d is of kind %d, and no list of free pages", id, p.kind)
	}
	list, n := p.bytes[boltHeader:], uint64(p.count)
	if p.count == boltMany {
		n, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if n > uint64(len(list)/8) {
		return fmt.Errorf("page %d has no room for %d free pages", id, n)
	}
	for i := range n {
		if err := t.see(binary.NativeEndian.Uint64(list[8*i:])); err != nil {
			return err
		}
	}
	return nil
}
