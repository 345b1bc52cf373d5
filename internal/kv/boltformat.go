package kv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
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

const boltFormat = "fencelab storage 1"

// initFormat gives a new file its buckets, and refuses one of another format.
func initFormat(db *boltFile) error {
	known := false
	err := db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("this is a database of something else: it has a bucket %q, and no format", name)
			}
			return nil
		}
		if f := meta.Get(metaFormat); string(f) != boltFormat {
			return fmt.Errorf("this is a database of another format, %.40q, want %q", f, boltFormat)
		}
		known = true
		return nil
	})
	if err != nil || known {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(boltItems)
		meta, err2 := tx.CreateBucket(metaBucket)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return meta.Put(metaFormat, []byte(boltFormat))
	})
}

func itemsOf(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket(boltItems) }

// An item is kept as its token, a big-endian 64-bit number, and its value.
const tokenSize = 8

func encodeItem(item Item) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, tokenSize+len(item.Value)), uint64(item.Token))
	return append(v, item.Value...)
}

func decodeItem(key string, v []byte) (Item, error) {
	if len(v) < tokenSize {
		return Item{}, fmt.Errorf("the item %q has %d bytes: the database is damaged", key, len(v))
	}
	return Item{Value: string(v[tokenSize:]), Token: fence.Token(binary.BigEndian.Uint64(v))}, nil
}

// counts are the number of items and the bytes of their keys and values. They are
// kept in the file: counting a million takes seconds.
type counts struct{ keys, bytes int64 }

const countsSize = 16

func countsOf(tx *bbolt.Tx) (n counts) {
	if v := tx.Bucket(metaBucket).Get(metaCounts); len(v) == countsSize {
		n.keys, n.bytes = int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint64(v[8:]))
	}
	return n
}

func (n counts) put(tx *bbolt.Tx) error {
	v := binary.BigEndian.AppendUint64(nil, uint64(n.keys))
	return tx.Bucket(metaBucket).Put(metaCounts, binary.BigEndian.AppendUint64(v, uint64(n.bytes)))
}

func (n *counts) add(key string, v []byte) {
	n.keys++
	n.bytes += int64(len(key) + len(v) - tokenSize)
}

func (n *counts) remove(key string, v []byte) {
	n.keys--
	n.bytes -= int64(len(key) + len(v) - tokenSize)
}
