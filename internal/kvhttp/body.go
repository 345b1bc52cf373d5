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

// small is up to what size a body costs nothing of the budget: honest clients
// with small values are served while others fill it.
const small = 4 << 10

// budget is the memory that bodies may take up together.
type budget struct {
	max  int64
	left *semaphore.Weighted
}

func newBudget(max int64) *budget { return &budget{max, semaphore.NewWeighted(max)} }

// body reads a request's whole body before anything is done, so that a client
// that dies half-way changes nothing and one that is slow holds no lock. It takes
// memory as the bytes arrive, not as they are announced; open gives it back.
func (h *handler) body(c *call) ([]byte, error) {
	if c.r.ContentLength > h.Limits.Body {
		return nil, h.tooLarge(c)
	}
	size := int64(small)
	if n := c.r.ContentLength; n >= 0 {
		size = min(n, small)
	}
	b := make([]byte, 0, size)
	for {
		if len(b) == cap(b) {
			if int64(len(b)) == c.r.ContentLength {
				return b, nil
			}
			grown := min(2*int64(cap(b))+small, h.Limits.Body+1)
			if c.r.ContentLength >= 0 {
				grown = min(grown, c.r.ContentLength)
			}
			if !h.memory.left.TryAcquire(grown - c.taken) {
				return nil, refuseRest(c, &kv.LimitError{Limit: kv.LimitMemory, Max: h.memory.max, Say: "try again later"})
			}
			c.taken = grown
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
			return nil, &httpError{http.StatusRequestTimeout, fmt.Errorf("the body did not come in time: %w", err)}
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
