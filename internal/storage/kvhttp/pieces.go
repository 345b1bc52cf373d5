package kvhttp

import (
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// pieces are a body as it came. Each is about as long as all before it, so that a body
// grows without being copied.
type pieces []*piece

type piece struct {
	b    []byte
	all  []byte     // what b is a part of
	pool *sync.Pool // that the piece goes back to; nil: to none
}

// maxPooled is the longest piece that is used again.
const maxPooled = 1 << 20

// pools have pieces by the number of bits of their length: to make room for a large body
// anew would cost more than to read it.
var pools [1 + 20]sync.Pool

// newPiece has room for n bytes.
func newPiece(n int) *piece {
	if n > maxPooled {
		return &piece{b: make([]byte, 0, n)}
	}
	class := bits.Len(uint(n - 1))
	p, ok := pools[class].Get().(*piece)
	if !ok {
		p = &piece{all: make([]byte, 1<<class), pool: &pools[class]}
	}
	p.b = p.all[:0:n]
	return p
}

// read reads once, to the room that is left.
func (p *piece) read(r io.Reader) (int, error) {
	n, err := r.Read(p.b[len(p.b):cap(p.b)])
	p.b = p.b[:len(p.b)+n]
	return n, err
}

// giveBack ends the use of all pieces.
func (p pieces) giveBack() {
	for _, piece := range p {
		if piece.pool != nil {
			piece.pool.Put(piece)
		}
	}
}

func (p pieces) len() (n int) {
	for _, piece := range p {
		n += len(piece.b)
	}
	return n
}

// bytes are a copy, or the first piece, which is the call's own.
func (p pieces) bytes() []byte {
	if len(p) == 1 {
		return p[0].b
	}
	b := slices.Grow([]byte(nil), p.len())
	for _, piece := range p {
		b = append(b, piece.b...)
	}
	return b
}

// String is a copy.
func (p pieces) String() string {
	var b strings.Builder
	b.Grow(p.len())
	for _, piece := range p {
		b.Write(piece.b)
	}
	return b.String()
}
