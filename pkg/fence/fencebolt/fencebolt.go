// Package fencebolt keeps fencing marks in a bbolt database, beside the data
// that they protect, so that both go through crashes together.
//
//	err := db.Update(func(tx *bbolt.Tx) error {
//		return fencebolt.Do(tx, claim, func() error {
//			return tx.Bucket(orders).Put(id, order)
//		})
//	})
//
// bbolt runs one writing transaction at a time and makes it durable before
// Update returns: check, mark and data are one step.
package fencebolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Bucket is the name of the bucket that holds the marks: by scope, token and
// sequence as two big-endian 64-bit numbers.
const Bucket = "fence.marks"

// Do runs op in tx, which must be writable, if c is admitted by the mark of its
// scope, and raises the mark. It returns op's error, a refusal as Mark.Admit of
// package fence has them, or fence.ErrDuplicate; with those op did not run and tx
// is as it was, so that it may be committed for other work in it.
//
// Where op fails, roll tx back: what op has put is undone, and the mark is not
// raised. A scope that is empty or longer than a key of
// bbolt can be is refused as invalid.
func Do(tx *bbolt.Tx, c fence.Claim, op func() error) error {
	if n := len(c.Scope); n == 0 || n > bbolt.MaxKeySize {
		return fmt.Errorf("%w: it has %d bytes, want 1 to %d", fence.ErrInvalidScope, n, bbolt.MaxKeySize)
	}
	marks, err := tx.CreateBucketIfNotExists([]byte(Bucket))
	if err != nil {
		return fmt.Errorf("fencebolt: %w", err)
	}
	before, err := decode(c.Scope, marks.Get([]byte(c.Scope)))
	if err != nil {
		return err
	}
	after, err := before.Admit(c)
	if err != nil {
		return err
	}
	if err := op(); err != nil {
		return err
	}
	if after = after.Done(c); after == before {
		return nil
	}
	if err := marks.Put([]byte(c.Scope), encode(after)); err != nil {
		return fmt.Errorf("fencebolt: mark of %q: %w", c.Scope, err)
	}
	return nil
}

// Mark returns the mark of a scope; zero where no token was admitted yet.
func Mark(tx *bbolt.Tx, scope string) (fence.Mark, error) {
	marks := tx.Bucket([]byte(Bucket))
	if marks == nil {
		return fence.Mark{}, nil
	}
	return decode(scope, marks.Get([]byte(scope)))
}

const markSize = 16 // bytes

func encode(m fence.Mark) []byte {
	b := make([]byte, markSize)
	binary.BigEndian.PutUint64(b, uint64(m.Token))
	binary.BigEndian.PutUint64(b[8:], uint64(m.Sequence))
	return b
}

// decode refuses what it did not write: a mark that is taken for a lower one
// lets stale writes in.
func decode(scope string, b []byte) (fence.Mark, error) {
	if b == nil {
		return fence.Mark{}, nil
	}
	if len(b) != markSize {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q has %d bytes, want %d: the database is damaged or not of this format", scope, len(b), markSize)
	}
	m := fence.Mark{Token: fence.Token(binary.BigEndian.Uint64(b)), Sequence: int64(binary.BigEndian.Uint64(b[8:]))}
	if !m.Token.Valid() || m.Sequence < 0 {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q is %+v: the database is damaged", scope, m)
	}
	return m, nil
}
