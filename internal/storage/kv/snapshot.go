package kv

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The kinds of Entry.
const (
	EntryFloor  = "floor"
	EntryMark   = "mark"
	EntryShared = "shared mark"
	EntryItem   = "item"
)

// Entry is one thing that an engine holds: the floor (Token), the exclusive mark
// of a scope (Name, Token, Sequence), its shared mark (Name, Token), or a key's
// item (Name, Token, Value). A snapshot has the floor first and the items last.
type Entry struct {
	Kind     string      `json:"kind"`
	Name     []byte      `json:"name,omitempty"` // base64 in JSON: keys are any bytes
	Token    fence.Token `json:"token,string,omitempty"`
	Sequence int64       `json:"sequence,string,omitempty"`
	Value    []byte      `json:"value,omitempty"`
}

func visitFloor(floor fence.Token, visit func(Entry) error) error {
	if floor == 0 {
		return nil
	}
	return visit(Entry{Kind: EntryFloor, Token: floor})
}

// visitMark shows visit the mark of a scope in each mode in which it says more than the floor.
func visitMark(scope string, m fence.Mark, floor fence.Token, visit func(Entry) error) error {
	if m.Token > floor || m.Token == floor && m.Sequence > 0 {
		if err := visit(Entry{Kind: EntryMark, Name: []byte(scope), Token: m.Token, Sequence: m.Sequence}); err != nil {
			return err
		}
	}
	if m.Shared > floor {
		return visit(Entry{Kind: EntryShared, Name: []byte(scope), Token: m.Shared})
	}
	return nil
}

func itemEntry(key string, item Item) Entry {
	return Entry{Kind: EntryItem, Name: []byte(key), Token: item.Token, Value: []byte(item.Value)}
}

// Restorer is an engine that can take a snapshot back.
type Restorer interface {
	Engine
	// Restore replaces all values by those of a snapshot, and raises floor and marks to the snapshot's where
	// they are lower: no mark goes down. An error of entries undoes it all.
	Restore(ctx context.Context, entries iter.Seq2[Entry, error]) error
}

// A snapshot is a text: a first line that says so, a line of JSON for each Entry,
// and a last line without which it is torn.
type (
	snapshotHead struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	snapshotLine struct {
		Entry          // or of the kind entryEnd, with what follows
		Entries int64  `json:"entries"`
		CRC32C  uint32 `json:"crc32c"` // of all lines before
	}
)

const (
	snapshotFormat  = "fencelab snapshot"
	snapshotVersion = 1
	entryEnd        = "end"
	maxEntry        = 1 << 30 // bytes of a line
)

func newCRC() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// WriteSnapshot writes all that e holds to w, as ReadSnapshot reads it.
func WriteSnapshot(ctx context.Context, e Engine, w io.Writer) error {
	crc := newCRC()
	buf := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(io.MultiWriter(crc, buf))
	if err := enc.Encode(snapshotHead{snapshotFormat, snapshotVersion}); err != nil {
		return err
	}
	var n int64
	err := e.Snapshot(ctx, func(entry Entry) error {
		n++
		return enc.Encode(entry)
	})
	if err != nil {
		return err
	}
	if err := enc.Encode(snapshotLine{Entry{Kind: entryEnd}, n, crc.Sum32()}); err != nil {
		return err
	}
	return buf.Flush()
}

// ReadSnapshot reads what WriteSnapshot wrote. What is torn, damaged or of another kind ends with an error
// that names the line; nothing may count before the end was reached without one.
func ReadSnapshot(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := snapshotReader{lines: bufio.NewScanner(r), crc: newCRC()}
		s.lines.Buffer(nil, maxEntry)
		for {
			entry, err := s.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("snapshot, line %d: %w", s.line, err)
			}
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

type snapshotReader struct {
	lines *bufio.Scanner
	line  int
	crc   hash.Hash32
}

// next returns io.EOF after the last line.
func (s *snapshotReader) next() (e Entry, err error) {
	if s.line == 0 {
		var head snapshotHead
		if err := s.decode(&head); err != nil {
			return e, fmt.Errorf("this is no snapshot of fencelab: %w", err)
		}
		if head.Format != snapshotFormat || head.Version != snapshotVersion {
			return e, fmt.Errorf("want format %q, version %d, got %q, %d", snapshotFormat, snapshotVersion, head.Format, head.Version)
		}
	}
	before := s.crc.Sum32()
	var line snapshotLine
	if err := s.decode(&line); err != nil {
		return e, err
	}
	if line.Kind == entryEnd {
		return e, s.end(line.Entries, line.CRC32C, before)
	}
	return line.Entry, line.Entry.check()
}

func (s *snapshotReader) end(entries int64, want, got uint32) error {
	switch {
	case entries != int64(s.line-2):
		return fmt.Errorf("it ends with %d entries, of %d", s.line-2, entries)
	case want != got:
		return fmt.Errorf("it is damaged: its checksum is %08x, want %08x", got, want)
	case s.lines.Scan():
		s.line++
		return errors.New("it goes on after its end")
	case s.lines.Err() != nil:
		return s.lines.Err()
	}
	return io.EOF
}

func (s *snapshotReader) decode(into any) error {
	s.line++
	if !s.lines.Scan() {
		if err := s.lines.Err(); err != nil {
			return err
		}
		return errors.New("it is torn: its last line is missing")
	}
	s.crc.Write(s.lines.Bytes())
	s.crc.Write([]byte{'\n'})
	if err := json.Unmarshal(s.lines.Bytes(), into); err != nil {
		return fmt.Errorf("it is torn or damaged: %w", err)
	}
	return nil
}

func (e *Entry) check() error {
	ok := false
	switch e.Kind {
	case EntryFloor:
		ok = e.Token.Valid()
	case EntryMark:
		ok = e.Token.Valid() && e.Sequence >= 0 && len(e.Name) > 0
	case EntryShared:
		ok = e.Token.Valid() && len(e.Name) > 0
	case EntryItem:
		ok = (e.Token == 0 || e.Token.Valid()) && len(e.Name) > 0
	default:
		return fmt.Errorf("unknown kind %.32q", e.Kind)
	}
	if !ok {
		return fmt.Errorf("this is no %s: name of %d bytes, token %d, sequence %d", e.Kind, len(e.Name), e.Token, e.Sequence)
	}
	return nil
}
