package kvhttp

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// small is how much of a body or an answer costs nothing of the budget: clients with small values are served
// while others have filled it. The limit of connections bounds the sum.
const small = 4 << 10

// Where memory is short, a call counts as slow if it moves fewer than slowest bytes a
// second to or from its client. Its first grace does not count.
const (
	slowest = 256 << 10
	grace   = 50 * time.Millisecond
)

// budget is the memory that bodies and answers may take up together. Whoever finds
// it full may get the room of a call that waits for its client; see mustYield.
type budget struct {
	max int64
	who func(*call) client

	mu    sync.Mutex
	used  int64
	of    map[client]int64
	calls map[*holding]bool
}

// holding is what one call has of the budget, which guards it.
type holding struct {
	client client
	n      int64
	wants  int64 // that its whole body needs, at the least
	gone   bool  // its room was given to another call

	cut   func() error // ends what the call waits for; nil: it does not wait
	since time.Time    // when it began to wait
	moved atomic.Int64 // bytes since then
}

func newBudget(max int64, who func(*call) client) *budget {
	return &budget{max: max, who: who, of: make(map[client]int64), calls: make(map[*holding]bool)}
}

// take gives a call n bytes more, or refuses it. They come back with giveBack.
func (b *budget) take(c *call, n int64) error {
	if n <= small {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held := c.held
	if held == nil {
		held = &holding{client: b.who(c), wants: c.r.ContentLength}
		if held.wants < 0 { // not known
			held.wants = b.max
		}
	}
	if held.gone {
		return b.cutOff()
	}
	for b.used+n > b.max {
		victim := b.victim(held, n)
		if victim == nil {
			return &kv.LimitError{Limit: kv.LimitMemory, Max: b.max, Say: "try again later"}
		}
		if err := victim.cut(); err != nil {
			victim.cut = nil // it cannot be cut off, as in a test
			continue
		}
		victim.gone = true
		b.remove(victim)
	}
	held.n += n
	b.used += n
	b.of[held.client] += n
	b.calls[held] = true
	if c.held == nil {
		c.held = held
		c.w = &sender{c.w, c, b}
	}
	return nil
}

func (b *budget) cutOff() error {
	return &kv.LimitError{Limit: kv.LimitMemory, Max: b.max, Say: "this client was slow, and others needed the room: try again later"}
}

// victim is the call that must yield to one that needs n bytes more: of the client
// that has most, the one that has waited longest. Nil: there is none.
func (b *budget) victim(held *holding, n int64) (victim *holding) {
	now := time.Now()
	for v := range b.calls {
		if v == held || v.cut == nil || !b.mustYield(v, held, n, now) {
			continue
		}
		if victim == nil || b.of[v.client] > b.of[victim.client] ||
			v.client == victim.client && v.since.Before(victim.since) {
			victim = v
		}
	}
	return victim
}

// mustYield: a client has a share like each other's, and within it so has each call.
// A call yields to another client that has less even with its n bytes more, and
// within its client to a call that needs less. A slow one yields to each of its client.
func (b *budget) mustYield(v, held *holding, n int64, now time.Time) bool {
	if v.client != held.client {
		return b.of[v.client] > b.of[held.client]+n
	}
	return v.n > max(held.n+n, held.wants) || v.slow(now)
}

func (h *holding) slow(now time.Time) bool {
	waited := now.Sub(h.since) - grace
	return waited > 0 && h.moved.Load() < int64(waited.Seconds()*slowest)
}

// wait says that a call waits for its client, or for its turn, from now on, and how
// that is cut off. Its room may be given to another call until proceed.
func (b *budget) wait(held *holding, cut func() error) {
	if held == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held.cut, held.since = cut, time.Now()
	held.moved.Store(0)
}

// proceed ends wait. It returns an error if the call's room is gone.
func (b *budget) proceed(held *holding) error {
	if held == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held.cut = nil
	if held.gone {
		return b.cutOff()
	}
	return nil
}

func (b *budget) giveBack(c *call) {
	if c.held == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.held.cut = nil
	if !c.held.gone {
		b.remove(c.held)
	}
}

func (b *budget) remove(held *holding) {
	delete(b.calls, held)
	b.used -= held.n
	if b.of[held.client] -= held.n; b.of[held.client] == 0 {
		delete(b.of, held.client)
	}
}

// sendPiece is how much of an answer is written at a time.
const sendPiece = 64 << 10

// sender writes the answer of a call that has memory, which yields it if the client does not read.
type sender struct {
	http.ResponseWriter
	call   *call
	memory *budget
}

// Unwrap is for http.ResponseController.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *sender) Write(b []byte) (int, error) {
	return s.send(len(b), func(from, to int) []byte { return b[from:to] })
}

// WriteString copies a piece at a time.
func (s *sender) WriteString(text string) (int, error) {
	piece := make([]byte, min(sendPiece, len(text)))
	return s.send(len(text), func(from, to int) []byte { return piece[:copy(piece, text[from:to])] })
}

// send writes n bytes by pieces. It prefers to say that the call was cut off.
func (s *sender) send(n int, piece func(from, to int) []byte) (sent int, err error) {
	s.call.endTurn() // the client may be slow to read
	control := http.NewResponseController(s.ResponseWriter)
	s.memory.wait(s.call.held, func() error { return control.SetWriteDeadline(time.Now()) })
	for sent < n && err == nil {
		var wrote int
		wrote, err = s.ResponseWriter.Write(piece(sent, min(sent+sendPiece, n)))
		sent += wrote
		s.call.held.moved.Add(int64(wrote))
	}
	if gone := s.memory.proceed(s.call.held); gone != nil && err != nil {
		return sent, gone
	}
	return sent, err
}
