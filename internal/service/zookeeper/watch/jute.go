package watch

import (
	"encoding/binary"
	"fmt"
)

// The numbers of ZooKeeper's protocol, those that are needed.
const (
	opDelete   = 2
	opExists   = 3
	opSync     = 9
	opPing     = 11
	opChildren = 12 // with the node's own Stat at the end
	opAddWatch = 106
	opClose    = -11

	xidEvent = -1
	xidPing  = -2
	xidClose = 0

	eventCreated = 1
	eventDeleted = 2

	maxPacket = 4 << 20
)

// Code is an error of ZooKeeper's, by its number.
type Code int32

// Those that callers look for.
const (
	NoNode   Code = -101
	NotEmpty Code = -111
)

func (c Code) Error() string {
	switch c {
	case NoNode:
		return "there is no such node"
	case NotEmpty:
		return "the node has children"
	}
	return fmt.Sprintf("ZooKeeper answers with the error %d", int32(c))
}

// writer makes a packet, in the encoding of ZooKeeper, jute.
type writer struct{ b []byte }

func (w *writer) int(n int32) *writer {
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(n))
	return w
}

func (w *writer) long(n int64) *writer {
	w.b = binary.BigEndian.AppendUint64(w.b, uint64(n))
	return w
}

func (w *writer) bool(yes bool) *writer {
	var b byte
	if yes {
		b = 1
	}
	w.b = append(w.b, b)
	return w
}

func (w *writer) bytes(b []byte) *writer {
	w.int(int32(len(b)))
	w.b = append(w.b, b...)
	return w
}

func (w *writer) string(s string) *writer { return w.bytes([]byte(s)) }

func (w *writer) append(other *writer) *writer {
	w.b = append(w.b, other.b...)
	return w
}

// packet is what is sent: the length, and all that was written.
func (w *writer) packet() []byte { return new(writer).bytes(w.b).b }

// reader reads a packet. Where it is too short, what is missing is zero.
type reader []byte

func (r *reader) next(n int) []byte {
	b := make([]byte, max(n, 0))
	*r = (*r)[copy(b, *r):]
	return b
}

func (r *reader) int() int32 { return int32(binary.BigEndian.Uint32(r.next(4))) }

func (r *reader) long() int64 { return int64(binary.BigEndian.Uint64(r.next(8))) }

func (r *reader) string() string { return string(r.next(min(int(r.int()), len(*r)))) }
