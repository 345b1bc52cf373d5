package kv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

// The buckets of the bolt engine's file, beside those of package fencebolt: the
// items by key, and what is known of the file as a whole.
var (
	boltItems  = []byte("items")
	metaBucket = []byte("meta")
	metaFormat = []byte("format")
	metaCounts = []byte("counts")
	metaProbe  = []byte("probe")
)

// The formats. In the first one nothing had a checksum.
const (
	boltFormat  = "fencelab storage 2"
	boltFormat1 = "fencelab storage 1"
)

func makeFormat(tx *bbolt.Tx) error {
	_, err := tx.CreateBucket(boltItems)
	meta, err2 := tx.CreateBucket(metaBucket)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return errors.Join(meta.Put(metaFormat, []byte(boltFormat)), counts{}.put(tx))
}

// checkFormat refuses a database of another format, and one that does not have all that was
// stored in it. One of the first format is given checksums.
func checkFormat(db *boltFile) error {
	old := false
	err := db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			name, _ := tx.Cursor().First()
			return fmt.Errorf("this is a database of something else, or damaged: it has no format, and its first bucket is %q", name)
		}
		f := string(meta.Get(metaFormat))
		if old = f == boltFormat1; old {
			return nil
		}
		if f != boltFormat {
			return fmt.Errorf("this is a database of another format, %.40q, want %q", f, boltFormat)
		}
		return verify(tx)
	})
	if err == nil && old {
		err = db.Update(upgrade)
	}
	return err
}

// verify reads everything, and compares it with what is known of the whole. What has changed
// since the database was opened is noticed where a record is read.
func verify(tx *bbolt.Tx) error {
	err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		switch string(name) {
		case string(boltItems), string(metaBucket), fencebolt.Bucket, fencebolt.FloorBucket:
			return nil
		}
		return fmt.Errorf("there is a bucket %q, which is none of the storage's: %w", name, errDamaged)
	})
	if err == nil {
		err = fencebolt.Verify(tx)
	}
	want, missing := countsOf(tx)
	if err = errors.Join(err, missing); err != nil {
		return err
	}
	var got counts
	err = itemsOf(tx).ForEach(func(k, v []byte) error {
		_, err := checkItem(string(k), v)
		if err == nil {
			got.count(1, string(k), v)
		}
		return err
	})
	if err == nil && got != want {
		err = fmt.Errorf("it has %d items, want %d, or some are not the latest ones: %w", got.Keys, want.Keys, errDamaged)
	}
	return err
}

// upgrade gives checksums to what a database of the first format has.
func upgrade(tx *bbolt.Tx) error {
	items := itemsOf(tx)
	meta := tx.Bucket(metaBucket)
	if items == nil || len(meta.Get(metaCounts)) > countsSize1 {
		return fmt.Errorf("it is not of the format %q, as it says: %w", boltFormat1, errDamaged)
	}
	all := make(map[string][]byte) // a bucket must not be changed while it is walked through
	err := items.ForEach(func(k, v []byte) error {
		item, err := decodeItem(string(k), v)
		all[string(k)] = sealItem(string(k), item)
		return err
	})
	if err != nil {
		return err
	}
	var n counts
	for key, sealed := range all {
		n.count(1, key, sealed)
		if err := items.Put([]byte(key), sealed); err != nil {
			return err
		}
	}
	return errors.Join(fencebolt.Upgrade(tx), n.put(tx), meta.Put(metaFormat, []byte(boltFormat)))
}

func itemsOf(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket(boltItems) }

// An item is kept as its token, a big-endian 64-bit number, and its value.
const tokenSize = 8

func encodeItem(item Item) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, tokenSize+len(item.Value)+checksumSize), uint64(item.Token))
	return append(v, item.Value...)
}

func decodeItem(key string, v []byte) (Item, error) {
	if len(v) < tokenSize {
		return Item{}, fmt.Errorf("the item %q has %d bytes: the database is damaged", key, len(v))
	}
	return Item{Value: string(v[tokenSize:]), Token: fence.Token(binary.BigEndian.Uint64(v))}, nil
}

// sealItem is an item with a checksum of it and of its key, as the file has it.
func sealItem(key string, item Item) []byte { return fencebolt.Seal(key, encodeItem(item)) }

func unsealItem(key string, sealed []byte) (Item, error) {
	v, err := checkItem(key, sealed)
	if err != nil {
		return Item{}, err
	}
	return decodeItem(key, v)
}

// checkItem is an encoded item without its checksum, which must be right.
func checkItem(key string, sealed []byte) ([]byte, error) {
	v, err := fencebolt.Unseal(key, sealed)
	if err != nil {
		return nil, fmt.Errorf("the item %q: %w", key, err)
	}
	return v, nil
}

const checksumSize = 4 // of a sealed record, at its end

// counts are the number of items, the bytes of their keys and values, and the sum of their checksums. They
// are kept in the file: counting a million takes seconds. An item that is missing, or is there as it was
// before, passes the check of its own checksum, and not that of the sum.
type counts struct {
	Keys, Bytes int64
	Digest      uint64
}

// The size of counts, without their checksum, in this format and in the first one.
const (
	countsSize  = 24
	countsSize1 = 16
)

func countsOf(tx *bbolt.Tx) (n counts, err error) {
	v, err := fencebolt.Unseal(string(metaCounts), tx.Bucket(metaBucket).Get(metaCounts))
	if err != nil || len(v) != countsSize {
		return n, fmt.Errorf("the number of items cannot be read: %w", errDamaged)
	}
	_, err = binary.Decode(v, binary.BigEndian, &n)
	return n, err
}

func (n counts) put(tx *bbolt.Tx) error {
	v, err := binary.Append(make([]byte, 0, countsSize+checksumSize), binary.BigEndian, n)
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(metaCounts, fencebolt.Seal(string(metaCounts), v))
}

// count adds an item so many times; -1 takes it out.
func (n *counts) count(items int64, key string, sealed []byte) {
	n.Keys += items
	n.Bytes += items * int64(len(key)+len(sealed)-tokenSize-checksumSize)
	n.Digest += uint64(items) * uint64(binary.BigEndian.Uint32(sealed[len(sealed)-checksumSize:]))
}
