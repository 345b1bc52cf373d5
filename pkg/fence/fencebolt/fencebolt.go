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
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Bucket is the name of the bucket that holds the marks: by scope, token and
// sequence as two big-endian 64-bit numbers, the shared mark as a third one, where
// there is one, and a checksum of scope and numbers. FloorBucket holds what is known of all
// marks: how many there are, a digest of them, and the floor, with a checksum as well.
//
// Earlier versions stored marks without checksums. These marks are read as ever, and have
// checksums after the next change of a mark; see Upgrade.
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
	all, err := sumOf(tx)
	if err != nil {
		return m, err
	}
	if marks := tx.Bucket([]byte(Bucket)); marks != nil {
		if m, err = decode(scope, marks.Get([]byte(scope)), all.sealed); err != nil {
			return m, err
		}
	}
	return m.Max(fence.Mark{Token: all.floor}), nil
}

// Has reports whether a scope has a mark of its own.
func Has(tx *bbolt.Tx, scope string) bool {
	marks := tx.Bucket([]byte(Bucket))
	return marks != nil && marks.Get([]byte(scope)) != nil
}

func put(tx *bbolt.Tx, scope string, m fence.Mark) error {
	all, err := upgraded(tx)
	if err != nil {
		return err
	}
	marks, err := tx.CreateBucketIfNotExists([]byte(Bucket))
	if err != nil {
		return fmt.Errorf("fencebolt: %w", err)
	}
	if before := marks.Get([]byte(scope)); before != nil {
		all.remove(before)
	}
	sealed := Seal(scope, encode(m))
	all.add(sealed)
	if err := marks.Put([]byte(scope), sealed); err != nil {
		return fmt.Errorf("fencebolt: mark of %q: %w", scope, err)
	}
	return all.put(tx)
}

// Floor is the mark of all scopes that have none of their own; see Raise.
func Floor(tx *bbolt.Tx) (fence.Token, error) {
	all, err := sumOf(tx)
	return all.floor, err
}

// Raise makes floor the lowest token that any scope admits, drops the marks
// below it, and says how many. A floor never goes down. When it is right to raise
// it: see Raise of fence.Register. It visits every mark.
func Raise(tx *bbolt.Tx, floor fence.Token) (dropped int, err error) {
	if !floor.Valid() {
		return 0, fmt.Errorf("%w: %d for the floor", fence.ErrInvalidToken, floor)
	}
	all, err := upgraded(tx)
	if err != nil {
		return 0, err
	}
	all.floor = max(all.floor, floor)
	lowest := fence.Mark{Token: floor}
	var below [][]byte // a bucket must not be changed while it is walked through
	err = ForEach(tx, func(scope string, m fence.Mark) error {
		if m.Max(lowest) == lowest { // says nothing more
			below = append(below, []byte(scope))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	marks := tx.Bucket([]byte(Bucket))
	for _, scope := range below {
		all.remove(marks.Get(scope))
		if err := marks.Delete(scope); err != nil {
			return 0, fmt.Errorf("fencebolt: %w", err)
		}
	}
	return len(below), all.put(tx)
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
func Len(tx *bbolt.Tx) (int, error) {
	all, err := sumOf(tx)
	return int(all.marks), err
}

// ForEach calls visit for every scope that has a mark of its own, in the order
// of their names, until it returns an error, and returns that.
func ForEach(tx *bbolt.Tx, visit func(scope string, m fence.Mark) error) error {
	all, err := sumOf(tx)
	marks := tx.Bucket([]byte(Bucket))
	if err != nil || marks == nil {
		return err
	}
	return marks.ForEach(func(k, v []byte) error {
		m, err := decode(string(k), v, all.sealed)
		if err != nil {
			return err
		}
		return visit(string(k), m)
	})
}

// A mark's size in bytes, without and with a shared one, and without the checksum.
const (
	markSize   = 16
	sharedSize = 24
)

// isSealed: a mark has a checksum.
func isSealed(v []byte) bool {
	return len(v) == markSize+checksumSize || len(v) == sharedSize+checksumSize
}

func encode(m fence.Mark) []byte {
	b := make([]byte, 0, sharedSize+checksumSize)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Token))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Sequence))
	if m.Shared == 0 {
		return b
	}
	return binary.BigEndian.AppendUint64(b, uint64(m.Shared))
}

var errDamaged = errors.New("the database is damaged")

// decode refuses what was not written, with a checksum or without: a mark that is taken for
// a lower one lets stale writes in.
func decode(scope string, v []byte, sealed bool) (fence.Mark, error) {
	if v == nil {
		return fence.Mark{}, nil
	}
	b, err := v, error(nil)
	if sealed {
		if b, err = Unseal(scope, v); err != nil {
			return fence.Mark{}, fmt.Errorf("the mark of %q: %w", scope, err)
		}
	}
	if len(b) != markSize && len(b) != sharedSize {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q has %d bytes, want %d or %d: %w, or not of this format", scope, len(b), markSize, sharedSize, errDamaged)
	}
	m := fence.Mark{Token: fence.Token(binary.BigEndian.Uint64(b)), Sequence: int64(binary.BigEndian.Uint64(b[8:]))}
	ok := m.Token.Valid()
	if len(b) == sharedSize {
		m.Shared = fence.Token(binary.BigEndian.Uint64(b[markSize:]))
		ok = m.Token >= 0 && m.Shared > m.Token
	}
	if !ok || m.Sequence < 0 {
		return fence.Mark{}, fmt.Errorf("fencebolt: the mark of %q is %+v: %w", scope, m, errDamaged)
	}
	return m, nil
}
