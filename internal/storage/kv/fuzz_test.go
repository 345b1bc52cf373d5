package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// readAll reads a whole snapshot.
func readAll(b []byte) (entries []Entry, err error) {
	for e, err := range ReadSnapshot(bytes.NewReader(b)) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// FuzzReadSnapshot: any bytes are an error, or a snapshot whose last line has the
// number and the checksum of those before.
func FuzzReadSnapshot(f *testing.F) {
	m := NewMemory(Options{})
	req := Request{Claim: fence.Claim{Scope: "/lock", Token: 7, Sequence: 1}}
	if err := m.Write(f.Context(), req, Op{Kind: OpWrite, Key: "a", Value: "\xff"}); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteSnapshot(f.Context(), m, &b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n")))
	f.Add(b.Bytes()[:b.Len()-2])
	f.Add(append(b.Bytes(), b.Bytes()...))
	f.Add([]byte("{\"format\":\"fencelab snapshot\",\"version\":1}\n{\"kind\":\"end\",\"entries\":0,\"crc32c\":0}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := readAll(b)
		if err != nil {
			return
		}
		lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
		crc := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		for i, line := range lines {
			// Another kind of line end is none of a snapshot's business.
			lines[i] = bytes.TrimSuffix(line, []byte("\r"))
			if i < len(lines)-1 {
				crc.Write(append(bytes.Clone(lines[i]), '\n'))
			}
		}
		var end struct {
			Entries int
			CRC32C  uint32
		}
		if err := json.Unmarshal(lines[len(lines)-1], &end); err != nil || end.CRC32C != crc.Sum32() || end.Entries != len(lines)-2 || end.Entries != len(entries) {
			t.Fatalf("%q was taken, with %d entries: %v", b, len(entries), err)
		}
	})
}

// FuzzSnapshot: what an engine held is what is read back, and a byte that is
// damaged on the way is noticed, or without any effect.
func FuzzSnapshot(f *testing.F) {
	f.Add("/lock", "key", []byte("value"), int64(34), int64(2), int64(0), uint(20), byte(1))
	f.Add("\xff", "\x00", []byte(nil), int64(1<<63-1), int64(0), int64(12), uint(180), byte(0x20))
	f.Fuzz(func(t *testing.T, scope, key string, value []byte, token, sequence, floor int64, at uint, flip byte) {
		m := NewMemory(Options{})
		if floor > 0 {
			if _, err := m.Raise(t.Context(), fence.Token(floor)); err != nil {
				t.Fatal(err)
			}
		}
		req := Request{Claim: fence.Claim{Scope: scope, Token: fence.Token(token), Sequence: sequence}}
		if scope == "" || key == "" || m.Write(t.Context(), req, Op{Kind: OpWrite, Key: key, Value: string(value)}) != nil {
			return
		}
		var want []Entry
		if err := m.Snapshot(t.Context(), func(e Entry) error { want = append(want, e); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if len(want[i].Value) == 0 {
				want[i].Value = nil // as an empty one is read
			}
		}
		var b bytes.Buffer
		if err := WriteSnapshot(t.Context(), m, &b); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(b.Bytes()); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		damaged := bytes.Clone(b.Bytes())
		damaged[at%uint(len(damaged))] ^= flip
		if got, err := readAll(damaged); err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q was taken as %+v, want %+v", damaged, got, want)
		}
	})
}

// FuzzBoltItem: any bytes in the file are an item that would be written so, or an
// error.
func FuzzBoltItem(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("1234567"))
	f.Add(encodeItem(Item{Value: "x", Token: 34}))
	f.Fuzz(func(t *testing.T, b []byte) {
		item, err := decodeItem("key", b)
		if (err != nil) != (len(b) < tokenSize) {
			t.Fatalf("%q: %+v, %v", b, item, err)
		}
		if err == nil && !bytes.Equal(encodeItem(item), b) {
			t.Fatalf("%q was read as %+v", b, item)
		}
		if err != nil && (item != Item{} || errors.Is(err, ErrNotFound)) {
			t.Fatalf("%q: %+v, %v", b, item, err)
		}
	})
}
