package kvhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"golang.org/x/sync/semaphore"

	"github.com/fencelab/fencelab/internal/kv"
)

// small is how much of a body or an answer costs nothing of the budget: clients
// with small values are served while others have filled it. What it comes to is
// bounded by the number of connections.
const small = 4 << 10

// budget is the memory that bodies and answers may take up together.
type budget struct {
	max  int64
	left *semaphore.Weighted
}

func newBudget(max int64) *budget { return &budget{max, semaphore.NewWeighted(max)} }

// take gives a call n bytes more, or refuses it. They come back with giveBack.
func (b *budget) take(c *call, n int64) error {
	if n <= small {
		return nil
	}
	if !b.left.TryAcquire(n) {
		return &kv.LimitError{Limit: kv.LimitMemory, Max: b.max, Say: "try again later"}
	}
	c.taken += n
	return nil
}

func (b *budget) giveBack(c *call) {
	if c.taken > 0 {
		b.left.Release(c.taken)
		c.taken = 0
	}
}

// body reads a request's whole body before anything is done, so that a client
// that dies half-way changes nothing and one that is slow holds no lock. It takes
// memory as the bytes arrive, not as they are announced; open gives it back.
func (h *handler) body(c *call) ([]byte, error) {
	announced := c.r.ContentLength // -1: not known
	if announced > h.Limits.Body {
		return nil, h.tooLarge(c)
	}
	size := int64(small)
	if announced >= 0 {
		size = min(announced, small)
	}
	b := c.buffer[:0]
	if size <= int64(cap(b)) {
		b = c.buffer[:0:size]
	} else {
		b = make([]byte, 0, size)
	}
	for {
		if int64(len(b)) == announced {
			return b, nil
		}
		if len(b) == cap(b) {
			grown := min(2*int64(cap(b))+small, h.Limits.Body+1)
			if announced >= 0 {
				grown = min(grown, announced)
			}
			if err := h.memory.take(c, grown-c.taken); err != nil {
				return nil, refuseRest(c, err)
			}
			b = append(make([]byte, 0, grown), b...)
		}
		n, err := c.r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > h.Limits.Body {
			return nil, h.tooLarge(c)
		}
		switch {
		case errors.Is(err, io.EOF):
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, refuseRest(c, &httpError{http.StatusRequestTimeout, fmt.Errorf("the body did not come in time: %w", err)})
		case err != nil:
			return nil, badRequest("the body ends early: %w", err)
		}
	}
}

func (h *handler) tooLarge(c *call) error {
	return refuseRest(c, &kv.LimitError{Limit: kv.LimitBody, Max: h.Limits.Body})
}

// refuseRest ends the connection after the answer: what is still to come of the
// body is not read.
func refuseRest(c *call, err error) error {
	c.w.Header().Set("Connection", "close")
	return err
}
