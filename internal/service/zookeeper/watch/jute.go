package watch

import (
	"encoding/binary"
	"fmt"
)

// The numbers of ZooKeeper's protocol, those that are needed.
const (
	opDelete   int32 = 2
	opExists   int32 = 3
	opSync     int32 = 9
	opPing     int32 = 11
	opChildren int32 = 12 // with the node's own Stat at the end
	opAddWatch int32 = 106
	opClose    int32 = -11

	xidEvent int32 = -1
	xidPing  int32 = -2
	xidClose int32 = 0

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

// jute encodes values in ZooKeeper's way: numbers by their size, and strings, bytes and packets in
// them after their length.
func jute(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		default:
			b, _ = binary.Append(b, binary.BigEndian, v) // the values here are of fixed size
		}
	}
	return b
}

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
