package explore

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// node is a state whose future was not told yet, and its place among those that were seen.
type node struct {
	state model.State
	place uint32
}

// A state is flat, and each of its bytes is a field. Most of them are 0.
const (
	stateSize = int(unsafe.Sizeof(model.State{}))
	maskSize  = (stateSize + 7) / 8
)

// pack appends a state without its zeros: its place, a bit for each byte that is not 0, and these bytes.
func pack(to []byte, n node) []byte {
	to = binary.LittleEndian.AppendUint32(to, n.place)
	mask := len(to)
	to = append(to, make([]byte, maskSize)...)
	for i, b := range (*[stateSize]byte)(unsafe.Pointer(&n.state)) {
		if b != 0 {
			to[mask+i/8] |= 1 << (i % 8)
			to = append(to, b)
		}
	}
	return to
}

// unpack is the first state of those that were packed, and the rest.
func unpack(from []byte) (n node, rest []byte) {
	n.place = binary.LittleEndian.Uint32(from)
	mask, rest := from[4:4+maskSize], from[4+maskSize:]
	to := (*[stateSize]byte)(unsafe.Pointer(&n.state))
	for word, set := range mask {
		for ; set != 0; set &= set - 1 {
			to[8*word+bits.TrailingZeros8(set)], rest = rest[0], rest[1:]
		}
	}
	return n, rest
}
