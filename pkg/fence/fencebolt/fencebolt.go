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
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Bucket is the name of the bucket that holds the marks: by scope, token and
// sequence as two big-endian 64-bit numbers, and the shared mark as a third one,
// where there is one. Its sequence, as bbolt calls a number that a bucket has,
// counts them. FloorBucket's sequence is the floor.
const (
	Bucket      = "fence.marks"
	FloorBucket = "fence.floor"
)

// Do runs op in tx, which must be writable, if c is admitted by the mark of its
// scope, and raises the mark. It returns op's error, a refusal as Mark.Admit of
// package fence has them, or fence.ErrDuplicate; with those op did not run and tx
// is as it was, so that it may be committed for other work in it.
//
// The mark is raised before op runs. Where op fails, what it has put and the mark
// go the same way: roll tx back and both are undone, commit it and both stay. A
// scope that is empty or longer than a key of bbolt can be is refused as invalid.
// Do knows no bound of the tokens; Store does, or ask Claim.CheckBound of package
// fence before the transaction begins.
func Do(tx *bbolt.Tx, c fence.Claim, op func() error) error {
	if n := len(c.Scope); n == 0 || n > bbolt.MaxKeySize {
		return fmt.Errorf("%w: it has %d bytes, want 1 to %d", fence.ErrInvalidScope, n, bbolt.MaxKeySize)
	}
	before, err := Mark(tx, c.Scope)
	if err != nil {
		return err
	}
	after, err := before.Admit(c)
	if err != nil {
		return err
	}
	if after != before {
		if err := put(tx, c.Scope, after); err != nil {
			return err
		}
	}
	if err := op(); err != nil {
		return err
	}
	if done := after.Done(c); done != after {
		return put(tx, c.Scope, done)
	}
	return nil
}

// Mark returns the mark of a scope; where it has none of its own the floor, and
// zero where there is none.
func Mark(tx *bbolt.Tx, scope string) (m fence.Mark, err error) {
	if marks := tx.Bucket([]byte(Bucket)); marks != nil {
		if m, err = decode(scope, marks.Get([]byte(scope))); err != nil {
			return m, err
		}
	}
	return m.Max(fence.Mark{Token: Floor(tx)}), nil
}

// Has reports whether a scope has a mark of its own.
func Has(tx *bbolt.Tx, scope string) bool {
	marks := tx.Bucket([]byte(Bucket))
	return marks != nil && marks.Get([]byte(scope)) != nil
}

func put(tx *bbolt.Tx, scope string, m fence.Mark) error {
	marks, err := tx.CreateBucketIfNotExists([]byte(Bucket))
	if err != nil {
		return fmt.Errorf("fencebolt: %w", err)
	}
	if !Has(tx, scope) {
		if _, err := marks.NextSequence(); err != nil {
			return fmt.Errorf("fencebolt: %w", err)
		}
	}
	if err := marks.Put([]byte(scope), encode(m)); err != nil {
		return fmt.Errorf("fencebolt: mark of %q: %w", scope, err)
	}
	return nil
}

// Floor is the mark of all scopes that have none of their own; see Raise.
func Floor(tx *bbolt.Tx) fence.Token {
	b := tx.Bucket([]byte(FloorBucket))
	if b == nil {
		return 0
	}
	return fence.Token(b.Sequence())
}

// Raise makes floor the lowest token that any scope admits, drops the marks
// below it, and says how many. A floor never goes down. When it is right to raise
// it: see Raise of fence.Register. It visits every mark.
func Raise(tx *bbolt.Tx, floor fence.Token) (dropped int, err error) {
	if !floor.Valid() {
		return 0, fmt.Errorf("%w: %d for the floor", fence.ErrInvalidToken, floor)
	}
	if floor > Floor(tx) {
		b, err := tx.CreateBucketIfNotExists([]byte(FloorBucket))
		if err != nil {
			return 0, fmt.Errorf("fencebolt: %w", err)
		}
		if err := b.SetSequence(uint64(floor)); err != nil {
			return 0, fmt.Errorf("fencebolt: %w", err)
		}
	}
	marks := tx.Bucket([]byte(Bucket))
	if marks == nil {
		return 0, nil
	}
	kept := uint64(0)
	lowest := fence.Mark{Token: floor}
	var below [][]byte // a bucket must not be changed while it is walked through
	err = marks.ForEach(func(scope, v []byte) error {
		m, err := decode(string(scope), v)
		if err == nil && m.Max(lowest) == lowest { // says nothing more
			below = append(below, bytes.Clone(scope))
		} else {
			kept++
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, scope := range below {
		if err := marks.Delete(scope); err != nil {
			return 0, fmt.Errorf("fencebolt: %w", err)
		}
	}
	if err := marks.SetSequence(kept); err != nil {
		return 0, fmt.Errorf("fencebolt: %w", err)
	}
	return len(below), nil
}

// RaiseMark raises the mark of a scope to m, in each mode in which m is higher:
// for data that comes from elsewhere, as a backup, with its mark.
func RaiseMark(tx *bbolt.Tx, scope string, m fence.Mark) error {
	before, err := Mark(tx, scope)
	if err != nil {
		return err
	}
	if after := before.Max(m); after != before {
		return put(tx, scope, after)
	}
	return nil
}

// Len is how many scopes have a mark of their own.
func Len(tx *bbolt.Tx) int {
	marks := tx.Bucket([]byte(Bucket))
	if marks == nil {
		return 0
	}
	return int(marks.Sequence())
}

// ForEach calls visit for every scope that has a mark of its own, in the order
// of their names, until it returns an error, and returns that.
func ForEach(tx *bbolt.Tx, visit func(scope string, m fence.Mark) error) error {
	marks := tx.Bucket([]byte(Bucket))
	if marks == nil {
		return nil
	}
	return marks.ForEach(func(k, v []byte) error {
		m, err := decode(string(k), v)
		if err != nil {
			return err
		}
		return visit(string(k), m)
	})
}

// A mark's size in bytes, without and with a shared one.
const (
	markSize   = 16
	sharedSize = 24
)

func encode(m fence.Mark) []byte {
	b := make([]byte, 0, sharedSize)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Token))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Sequence))
	if m.Shared == 0 {
		return b
	}
	return binary.BigEndian.AppendUint64(b, uint64(m.Shared))
}

// decode refuses what it did not write: a mark that is taken for a lower one
// lets stale writes in.
func decode(scope string, b []byte) (fence.Mark, error) {
	if b == nil {
		return fence.Mark{}, nil
	}
	if len(b) != markSize && len(b) != sharedSize {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q has %d bytes, want %d or %d: the database is damaged or not of this format", scope, len(b), markSize, sharedSize)
	}
	m := fence.Mark{Token: fence.Token(binary.BigEndian.Uint64(b)), Sequence: int64(binary.BigEndian.Uint64(b[8:]))}
	ok := m.Token.Valid()
	if len(b) == sharedSize {
		m.Shared = fence.Token(binary.BigEndian.Uint64(b[markSize:]))
		ok = m.Token >= 0 && m.Shared > m.Token
	}
	if !ok || m.Sequence < 0 {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q is %+v: the database is damaged", scope, m)
	}
	return m, nil
}
