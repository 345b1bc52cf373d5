package kvhttp

import (
	"net"
	"sync/atomic"
	"syscall"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// backlog is how many bytes a read finds at the least where more may wait behind them:
// almost all that package http asks for at a time.
const backlog = 2 << 10

// flow has a connection take turns with others while its client has sent more than is read: a large body, a
// large header, or requests before the answers to those before them. A turn begins with a read, or with a
// request that came before the answer to another, and ends with the next read or write. It is not held while
// anybody is waited for. A client that waits for its answers needs no turn. A nil flow takes none.
type flow struct {
	turns *Turns
	who   client
	raw   syscall.RawConn // nil: it cannot be read without waiting

	turn     atomic.Pointer[turn] // nil: it has none
	more     atomic.Bool          // the last read found backlog
	requests atomic.Int32         // since the last read
	waiting  atomic.Bool          // the request may wait for others, or the connection is closed
}

func newFlow(turns *Turns, c net.Conn) *flow {
	f := &flow{turns: turns, who: client{address: network(c.RemoteAddr().String())}}
	if s, ok := c.(syscall.Conn); ok {
		f.raw, _ = s.SyscallConn() // an error leaves it nil
	}
	return f
}

// begin waits for a turn, where the connection has none and may have one.
func (f *flow) begin(work int) {
	if f.waiting.Load() || f.turn.Load() != nil {
		return
	}
	t := f.turns.ask(f.who, int64(max(work, smallTurn)))
	if t.came != nil {
		<-t.came
	}
	if had := f.turn.Swap(t); had != nil {
		f.turns.give(had)
	}
	if f.waiting.Load() { // meanwhile
		f.rest()
	}
}

func (f *flow) rest() {
	if f == nil || f.turn.Load() == nil {
		return
	}
	if t := f.turn.Swap(nil); t != nil {
		f.turns.give(t)
	}
}

// wait gives the turn back, and has the connection take none until goOn.
func (f *flow) wait() {
	if f != nil {
		f.waiting.Store(true)
		f.rest()
	}
}

func (f *flow) goOn() {
	if f != nil {
		f.waiting.Store(false)
	}
}

// readNow reads within a turn what has arrived, where more has. 0: the client has to be waited for.
func (f *flow) readNow(b []byte) int {
	f.rest()
	if f == nil || f.raw == nil || !f.more.Load() {
		return 0
	}
	b = b[:min(len(b), sendPiece)]
	f.begin(len(b))
	n := kernel.ReadNow(f.raw, b)
	f.found(n)
	if n == 0 {
		f.rest()
	}
	return n
}

// found is told what a read has found.
func (f *flow) found(n int) {
	if f == nil {
		return
	}
	f.more.Store(n >= backlog)
	if n > 0 {
		f.requests.Store(0)
	}
}

// request tells of one that comes by the connection. It is worked on in a turn where the client
// did not wait for the answer to the one before it.
func (f *flow) request() {
	if f != nil && f.requests.Add(1) > 1 {
		f.begin(smallTurn)
	}
}

// writeNow writes what can be written without waiting, where the connection has a turn, and ends the turn.
func (f *flow) writeNow(b []byte) (n int) {
	if f == nil || f.turn.Load() == nil {
		return 0
	}
	if f.raw != nil {
		n = kernel.WriteNow(f.raw, b)
	}
	f.rest()
	return n
}
