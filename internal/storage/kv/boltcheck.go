package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// boltMeta is a meta page of bbolt's file format, version 2, whose numbers have the machine's byte order.
// There are two, written in turn, each transaction over that of the one before the last.
type boltMeta struct {
	Page     uint64 // its number, of the page header
	_        uint64 // the rest of the header
	Magic    uint32
	Version  uint32
	PageSize uint32
	_        uint32
	Root     uint64 // page of the root bucket
	_        uint64
	Freelist uint64 // page
	Pages    uint64 // of the file that are in use, at the most
	Txid     uint64
	Checksum uint64 // FNV-1a of what comes before, page header left out
}

const (
	boltMagic    = 0xED0CDAED
	boltVersion  = 2
	boltMetaSize = 80 // bytes
	boltHeader   = 16 // bytes
)

// checkBoltFile refuses a file that bbolt would open though a part of it is lost. Where one meta page is
// damaged bbolt takes the other, and if that is the older one, an acknowledged write is gone and a mark is
// lower. A page cannot have been torn by a crash: what counts of it lies within one sector. bbolt notices a
// file that was cut off only when it reads a page that is not there, and of damaged pages a few.
func checkBoltFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if kernel.Share(file) != nil {
		return nil // in use: it changes, and opening it will say so
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.New("it is empty, and was not when it was made")
	}
	first, err := readBoltMeta(file, 0, 0)
	if err != nil {
		return err
	}
	second, err := readBoltMeta(file, 1, int64(first.PageSize))
	if err != nil {
		return err
	}
	newest := first
	if second.Txid > first.Txid {
		newest = second
	}
	if want := int64(newest.Pages) * int64(newest.PageSize); info.Size() < want {
		return fmt.Errorf("it has %d bytes, and %d or more were in use: its end is missing", info.Size(), want)
	}
	return checkBoltTree(file, newest)
}

func readBoltMeta(file *os.File, page uint64, at int64) (m boltMeta, err error) {
	b := make([]byte, boltMetaSize)
	if _, err := file.ReadAt(b, at); err != nil {
		return m, fmt.Errorf("no meta page at byte %d: %w", at, err)
	}
	if _, err := binary.Decode(b, binary.NativeEndian, &m); err != nil {
		return m, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[boltHeader : boltMetaSize-8])
	if m.Magic != boltMagic || m.Version != boltVersion || m.Checksum != sum.Sum64() || m.Page != page {
		return m, fmt.Errorf("the meta page at byte %d is damaged, or was never one", at)
	}
	return m, nil
}

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

// element is a key of a page of a tree, and what it leads to.
type element struct {
	key   []byte
	kind  uint32 // of a leaf's
	value []byte // of a leaf's
	below uint64 // page, of a branch's
}

// elements are the elements of a page of a tree. Their keys are in order, from low on, and below high;
// nil: there is no bound.
func (p boltPage) elements(low, high []byte) (list []element, err error) {
	list = make([]element, p.count)
	for i := range list {
		at := boltHeader + i*boltElement
		head := p.bytes[at:]
		number := func(n int) uint64 { return uint64(binary.NativeEndian.Uint32(head[4*n:])) }
		e := &list[i]
		from, size, more := number(0), number(1), uint64(0)
		if e.below = binary.NativeEndian.Uint64(head[8:]); p.kind == boltLeaf {
			e.kind, from, size, more = uint32(number(0)), number(1), number(2), number(3)
		}
		if from+size+more > uint64(len(head)) {
			return nil, fmt.Errorf("element %d of page %d is behind the end of the page", i, p.id)
		}
		e.key, e.value = head[from:from+size], head[from+size:from+size+more]
		if i > 0 && bytes.Compare(list[i-1].key, e.key) >= 0 || bytes.Compare(e.key, low) < 0 || high != nil && bytes.Compare(e.key, high) >= 0 {
			return nil, fmt.Errorf("element %d of page %d is not in order", i, p.id)
		}
	}
	return list, nil
}

// walk checks a page and those below it, whose keys are from low on, and below high.
func (t *boltTree) walk(id uint64, low, high []byte) error {
	p, err := t.page(id)
	if err != nil {
		return err
	}
	return t.tree(p, low, high)
}

func (t *boltTree) tree(p boltPage, low, high []byte) error {
	switch {
	case p.kind != boltLeaf && p.kind != boltBranch:
		return fmt.Errorf("page %d is of kind %d, and no page of a tree", p.id, p.kind)
	case p.kind == boltBranch && p.count == 0:
		return fmt.Errorf("page %d leads nowhere", p.id)
	}
	list, err := p.elements(low, high)
	if err != nil {
		return err
	}
	for i, e := range list {
		switch {
		case p.kind == boltBranch:
			end := high
			if i+1 < len(list) {
				end = list[i+1].key
			}
			err = t.walk(e.below, e.key, end)
		case e.kind == boltBucket:
			err = t.bucket(e.value)
		case e.kind != 0:
			err = fmt.Errorf("element %d of page %d is of kind %d", i, p.id, e.kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	return t.tree(p, nil, nil)
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
