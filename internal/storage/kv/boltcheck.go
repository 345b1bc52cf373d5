package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// boltMeta is a meta page of bbolt's file format, version 2, whose numbers have
// the machine's byte order. There are two, written in turn, each transaction
// over that of the one before the last.
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

// checkBoltFile refuses a file that bbolt would open though a part of it is
// lost. Where one meta page is damaged bbolt takes the other, and if that is the
// older one, an acknowledged write is gone and a mark is lower. A page cannot
// have been torn by a crash: what counts of it lies within one sector. bbolt notices a file
// that was cut off only when it reads a page that is not there, and of damaged pages a few.
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
