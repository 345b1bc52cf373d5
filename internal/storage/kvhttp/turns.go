package kvhttp

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"
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
