package kvhttp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// after says how many turns end before that of t.
func (t *turn) after(ts *Turns, running *turn, queue []*turn) int {
	for n := 0; ; n++ {
		select {
		case <-t.came:
			return n
		default:
		}
		ts.give(running)
		for i, next := range queue {
			select {
			case <-next.came:
				running, queue = next, append(queue[:i:i], queue[i+1:]...)
			default:
				continue
			}
			break
		}
	}
}

// TestTurnsAreFair: 64 large requests of one client are in the queue. One of another
// client waits for no more than the one whose turn it is, a small one of the same
// client for a few, and one like theirs for all.
func TestTurnsAreFair(t *testing.T) {
	many := client{address: "192.0.2.1"}
	for _, tt := range []struct {
		who    client
		work   int64
		atMost int
	}{
		{client{address: "192.0.2.2"}, 60_000, 1},
		{client{name: "orders"}, 1_000_000, 20},
		{many, 1_000, 9},
		{many, 60_000, 64},
	} {
		ts := NewTurns()
		ts.free = 1
		running := ts.ask(many, 60_000)
		var queue []*turn
		for range 63 {
			queue = append(queue, ts.ask(many, 60_000))
		}
		last := ts.ask(tt.who, tt.work)
		if n := last.after(ts, running, queue); n > tt.atMost {
			t.Errorf("%v with %d bytes waits for %d, want at most %d", tt.who, tt.work, n, tt.atMost)
		}
	}
}

// TestTurnsAreGivenBack: whoever gives up leaves the queue as it was.
func TestTurnsAreGivenBack(t *testing.T) {
	ts := NewTurns()
	ts.free = 1
	first := ts.ask(client{name: "a"}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone, err := ts.take(ctx, client{name: "b"}, 1)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	ts.give(gone)
	ts.give(first)
	if ts.free != 1 || len(ts.queue) != 0 || len(ts.client) != 0 {
		t.Errorf("left: %+v", ts)
	}
}

// TestTurnComesToHalfClosedClient: the request's context is canceled where the client has
// closed its sending side, and the turn comes all the same.
func TestTurnComesToHalfClosedClient(t *testing.T) {
	h := &handler{Options: Options{Turns: NewTurns()}, memory: newBudget(1<<20, nil)}
	h.Turns.free = 1
	running := h.Turns.ask(client{address: "192.0.2.2"}, smallTurn)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &call{r: httptest.NewRequestWithContext(ctx, http.MethodPut, "/v1/kv/a", nil)}
	worked := make(chan error, 1)
	go func() { worked <- h.work(c, smallTurn) }()
	for waits := false; !waits && len(worked) == 0; { // until it is in the queue
		runtime.Gosched()
		h.Turns.mu.Lock()
		waits = len(h.Turns.queue) > 0
		h.Turns.mu.Unlock()
	}
	h.Turns.give(running)
	if err := <-worked; err != nil || c.turn == nil {
		t.Errorf("no turn: %v", err)
	}
}
