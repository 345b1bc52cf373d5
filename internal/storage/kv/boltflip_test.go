package kv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

// flippedItems are in a file of which bits are flipped, with as many marks.
const flippedItems = 200

func flippedKey(i int) string { return fmt.Sprintf("key%03d", i) }

// flippedFile makes a file whose marks are above the floor, which is 7.
func flippedFile(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	e, err := kv.OpenBolt(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Raise(t.Context(), 7)
	for i := 0; err == nil && i < flippedItems; i++ {
		claim := fence.Claim{Scope: flippedKey(i), Token: fence.Token(i + 8), Sequence: int64(i + 1)}
		err = e.Write(t.Context(), kv.Request{Claim: claim}, kv.Op{Kind: kv.OpWrite, Key: flippedKey(i), Value: fmt.Sprint("value", i)})
	}
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, kvtest.BoltFile))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkFlipped: everything is as flippedFile has made it.
func checkFlipped(t *testing.T, e kv.Engine, how string) {
	t.Helper()
	for i := range flippedItems {
		item, err := e.Read(t.Context(), kv.Request{}, flippedKey(i))
		if err != nil || item != (kv.Item{Value: fmt.Sprint("value", i), Token: fence.Token(i + 8)}) {
			t.Errorf("%s: item %d is %+v, %v", how, i, item, err)
		}
		m, err := e.Mark(t.Context(), flippedKey(i))
		if err != nil || m != (fence.Mark{Token: fence.Token(i + 8), Sequence: int64(i + 1)}) {
			t.Errorf("%s: mark %d is %+v, %v", how, i, m, err)
		}
	}
	if m, err := e.Mark(t.Context(), "other"); err != nil || m.Token != 7 {
		t.Errorf("%s: the floor is %d, %v", how, m.Token, err)
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Keys != flippedItems || s.Marks != flippedItems {
		t.Errorf("%s: %+v, %v", how, s, err)
	}
}

// TestBoltFlippedBits: a file of which a bit is not as it was is refused by name, or serves what
// it did before.
func TestBoltFlippedBits(t *testing.T) {
	whole := flippedFile(t)
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	step := 4001 // bits
	if need.Long() {
		step = 31
	}
	var refused, served int
	for bit := rand.IntN(step); bit < 8*len(whole); bit += step {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		how := fmt.Sprintf("bit %d of byte %d", bit%8, bit/8)
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path+" cannot be opened") || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("%s: %v", how, err)
			}
			continue
		}
		served++
		checkFlipped(t, e, how)
		if err := e.Close(); err != nil {
			t.Errorf("%s: close: %v", how, err)
		}
	}
	t.Logf("%d refused, %d opened", refused, served)
	if refused == 0 || served == 0 {
		t.Error("all bits were of one kind")
	}
}

// TestBoltEmptyFile: a file that has lost all is no new one.
func TestBoltEmptyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := kv.OpenBolt(dir, kv.Options{})
	if err == nil {
		e.Close()
		t.Fatal("it was served as a new one")
	}
	if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "empty") || !strings.Contains(text, "move it away to begin anew") {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("it was changed: %v, %v", info, err)
	}
}

// TestBoltFirstFormat: what earlier versions have stored is served, and has checksums from then on.
func TestBoltFirstFormat(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		items, err := tx.CreateBucket([]byte("items"))
		meta, err2 := tx.CreateBucket([]byte("meta"))
		marks, err3 := tx.CreateBucket([]byte(fencebolt.Bucket))
		floor, err4 := tx.CreateBucket([]byte(fencebolt.FloorBucket))
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return err
		}
		size := 0
		for i := range flippedItems {
			token := binary.BigEndian.AppendUint64(nil, uint64(i+8))
			value := fmt.Sprint("value", i)
			size += len(flippedKey(i)) + len(value)
			err = errors.Join(err, items.Put([]byte(flippedKey(i)), append(bytes.Clone(token), value...)),
				marks.Put([]byte(flippedKey(i)), binary.BigEndian.AppendUint64(token, uint64(i+1))))
		}
		counts := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, flippedItems), uint64(size))
		return errors.Join(err, marks.SetSequence(flippedItems), floor.SetSequence(7),
			meta.Put([]byte("counts"), counts), meta.Put([]byte("format"), []byte("fencelab storage 1")))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"at first", "again"} {
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		checkFlipped(t, e, how)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	flipBehind(t, path, "value17")
	if e, err := kv.OpenBolt(dir, kv.Options{}); err == nil {
		e.Close()
		t.Error("a damaged item is not noticed afterwards")
	}
}
