package kvhttp

import (
	"cmp"
	"context"
	"net"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// Turns share the processors among the requests that need much of them, such as batches: only so many are
// worked on at a time that others need not wait for them. The queue is fair. A request's place in it is
// behind the present one by what it asks for, times the number of requests that its client has there: a
// client with many requests gets no more than one with a few, and who asks for little waits little.
type Turns struct {
	mu     sync.Mutex
	free   int
	now    int64            // the place of the last one whose turn came
	queue  []*turn          // by place
	client map[client]int64 // requests that wait or have their turn
}

type turn struct {
	client client
	place  int64
	waits  bool // it is in the queue
	came   chan struct{}
}

// NewTurns has one less at a time than there are processors, so that one is left.
func NewTurns() *Turns {
	return &Turns{free: max(1, runtime.GOMAXPROCS(0)-1), client: make(map[client]int64)}
}

// take waits for the turn of a request that asks for so much work, in bytes, or until
// ctx is done, which is an error. The caller calls give after either.
func (t *Turns) take(ctx context.Context, who client, work int64) (*turn, error) {
	turn := t.ask(who, work)
	if turn.came == nil {
		return turn, nil
	}
	select {
	case <-turn.came:
		return turn, nil
	case <-ctx.Done():
		return turn, ctx.Err()
	}
}

func (t *Turns) ask(who client, work int64) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client[who]++
	turn := &turn{client: who, place: t.now + work*t.client[who]}
	if t.free > 0 {
		t.free--
		return turn
	}
	turn.came, turn.waits = make(chan struct{}), true
	at := sort.Search(len(t.queue), func(i int) bool { return t.queue[i].place > turn.place })
	t.queue = slices.Insert(t.queue, at, turn)
	return turn
}

// give lets the next one have its turn. A turn that has not come is given up.
func (t *Turns) give(over *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client[over.client]--; t.client[over.client] == 0 {
		delete(t.client, over.client)
	}
	switch {
	case over.waits:
		t.queue = slices.DeleteFunc(t.queue, func(q *turn) bool { return q == over })
	case len(t.queue) == 0:
		t.free++
	default:
		next := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		t.now, next.waits = max(t.now, next.place), false
		close(next.came)
	}
}

// smallTurn is the least that a batch counts for, in bytes.
const smallTurn = 1 << 10

// work waits for the call's turn to work on a body of n bytes. endTurn ends it.
func (h *handler) work(c *call, n int) error {
	if c.turn != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(c.context())
	defer cancel()
	h.memory.wait(c.held, func() error { cancel(); return nil })
	turn, err := h.Turns.take(ctx, h.client(c), int64(max(n, smallTurn)))
	if gone := h.memory.proceed(c.held); err != nil || gone != nil {
		h.Turns.give(turn)
		return cmp.Or(gone, err)
	}
	c.turn = turn
	return nil
}

func (c *call) endTurn() {
	if c.turn != nil {
		c.route.handler.Turns.give(c.turn)
		c.turn = nil
	}
}

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
