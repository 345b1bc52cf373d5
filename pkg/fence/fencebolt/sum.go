package fencebolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// sum is what is known of all marks: a mark that is missing, or is one of before, passes
// the check of its own checksum.
type sum struct {
	marks  uint64 // how many scopes have one
	digest uint64 // the sum of their checksums
	floor  fence.Token
	sealed bool // marks have checksums; those of earlier versions have none, and no sum
}

var sumKey = []byte("sum")

// sumSize is the number of bytes of a sum, without its checksum.
const sumSize = 24

// sumOf reads the sum, or makes one of what earlier versions have stored.
func sumOf(tx *bbolt.Tx) (s sum, err error) {
	marks, floor := tx.Bucket([]byte(Bucket)), tx.Bucket([]byte(FloorBucket))
	var record []byte
	if floor != nil {
		record = floor.Get(sumKey)
	}
	if record == nil {
		return s.ofEarlier(marks, floor)
	}
	b, err := Unseal(FloorBucket, record)
	if err != nil || len(b) != sumSize {
		return sum{}, fmt.Errorf("fencebolt: what is known of all marks cannot be read: %w", errDamaged)
	}
	s = sum{
		marks: binary.BigEndian.Uint64(b), digest: binary.BigEndian.Uint64(b[8:]),
		floor: fence.Token(binary.BigEndian.Uint64(b[16:])), sealed: true,
	}
	if marks == nil && s.marks > 0 {
		return sum{}, fmt.Errorf("fencebolt: %d scopes have a mark, and the bucket %s is missing: %w", s.marks, Bucket, errDamaged)
	}
	return s, nil
}

// ofEarlier is the sum of what earlier versions have stored. Where a sum is lost it is an error:
// marks have checksums then, or of the buckets one is left with something else in it.
func (s sum) ofEarlier(marks, floor *bbolt.Bucket) (sum, error) {
	var lost bool
	if marks != nil {
		scope, v := marks.Cursor().First()
		lost = isSealed(v) || scope == nil && floor == nil
		s.marks = marks.Sequence()
	}
	if floor != nil {
		key, _ := floor.Cursor().First()
		lost = lost || key != nil
		s.floor = fence.Token(floor.Sequence())
	}
	if lost {
		return sum{}, fmt.Errorf("fencebolt: what is known of all marks is missing: %w", errDamaged)
	}
	return s, nil
}

func (s sum) put(tx *bbolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists([]byte(FloorBucket))
	if err != nil {
		return fmt.Errorf("fencebolt: %w", err)
	}
	record := binary.BigEndian.AppendUint64(make([]byte, 0, sumSize+checksumSize), s.marks)
	record = binary.BigEndian.AppendUint64(record, s.digest)
	record = binary.BigEndian.AppendUint64(record, uint64(s.floor))
	if err := b.Put(sumKey, Seal(FloorBucket, record)); err != nil {
		return fmt.Errorf("fencebolt: %w", err)
	}
	return nil
}

func (s *sum) add(sealed []byte) {
	s.marks++
	s.digest += checksumOf(sealed)
}

func (s *sum) remove(sealed []byte) {
	s.marks--
	s.digest -= checksumOf(sealed)
}

// Verify reads all marks, and returns an error where they are not those that were stored.
// A mark that was changed is noticed whenever it is read; Verify also notices one that is
// missing, or that is there as it was before. Call it when the database was opened.
// Marks that a version without checksums has stored can't be compared with anything; see
// Upgrade.
func Verify(tx *bbolt.Tx) error {
	want, err := sumOf(tx)
	if err != nil {
		return err
	}
	marks := tx.Bucket([]byte(Bucket))
	if marks == nil {
		return nil
	}
	var got sum
	err = marks.ForEach(func(scope, v []byte) error {
		if string(marks.Get(scope)) != string(v) {
			return fmt.Errorf("fencebolt: the mark of %q is there, and is not found: %w", scope, errDamaged)
		}
		if _, err := decode(string(scope), v, want.sealed); err != nil || !want.sealed {
			return err
		}
		got.add(v)
		return nil
	})
	if err == nil && want.sealed && (got.marks != want.marks || got.digest != want.digest) {
		err = fmt.Errorf("fencebolt: there are %d marks, want %d, or some are not the latest ones: %w", got.marks, want.marks, errDamaged)
	}
	return err
}

// Upgrade gives checksums to the marks that an earlier version has stored. Whatever
// changes a mark does so, too. It visits every mark, once.
func Upgrade(tx *bbolt.Tx) error {
	_, err := upgraded(tx)
	return err
}

// upgraded is the sum, where marks have checksums.
func upgraded(tx *bbolt.Tx) (sum, error) {
	s, err := sumOf(tx)
	if err != nil || s.sealed {
		return s, err
	}
	s = sum{floor: s.floor, sealed: true}
	all := make(map[string][]byte) // a bucket must not be changed while it is walked through
	marks := tx.Bucket([]byte(Bucket))
	if marks != nil {
		err = marks.ForEach(func(scope, v []byte) error {
			m, err := decode(string(scope), v, false)
			all[string(scope)] = Seal(string(scope), encode(m))
			return err
		})
	}
	for scope, sealed := range all {
		if err == nil {
			s.add(sealed)
			err = marks.Put([]byte(scope), sealed)
		}
	}
	if err != nil {
		return sum{}, err
	}
	return s, s.put(tx)
}

// checksumSize is the number of bytes of the checksum at the end of a record, a CRC-32C of the record's
// key and content.
const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends a checksum of key and record to a record: for data of your own that lies beside
// marks, and is read by Unseal.
func Seal(key string, record []byte) []byte {
	return binary.BigEndian.AppendUint32(record, checksum(key, record))
}

// Unseal returns a record without its checksum, or an error where the checksum is not right.
func Unseal(key string, sealed []byte) ([]byte, error) {
	end := len(sealed) - checksumSize
	if end < 0 || checksum(key, sealed[:end]) != binary.BigEndian.Uint32(sealed[end:]) {
		return nil, fmt.Errorf("fencebolt: the checksum of %q is wrong: %w", key, errDamaged)
	}
	return sealed[:end], nil
}

func checksumOf(sealed []byte) uint64 {
	return uint64(binary.BigEndian.Uint32(sealed[len(sealed)-checksumSize:]))
}

// checksum begins with the length of the key: what is the key's, and what the record's, is
// covered, too.
func checksum(key string, record []byte) uint32 {
	c := crc32.Update(uint32(len(key)), castagnoli, []byte(key))
	return crc32.Update(c, castagnoli, record)
}
