package kvhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/kv"
)

// body reads a request's whole body before anything is done, so that a client
// that dies half-way changes nothing and one that is slow holds no lock. It takes
// memory as the bytes arrive, not as they are announced; ServeHTTP gives it back.
func (h *handler) body(c *call) ([]byte, error) {
	b, err := h.readBody(c)
	if gone := h.memory.proceed(c.held); gone != nil {
		return nil, refuseRest(c, gone)
	}
	if err == nil && len(b) > small {
		err = h.work(c, len(b))
	}
	return b, err
}

func (h *handler) readBody(c *call) ([]byte, error) {
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
			if err := h.takeForBody(c, grown); err != nil {
				return nil, refuseRest(c, err)
			}
			b = append(make([]byte, 0, grown), b...)
		}
		n, err := c.r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if c.held != nil {
			c.held.moved.Add(int64(n))
		}
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

// takeForBody takes memory so that a call has n bytes. From the first on the call
// may have to yield them if the rest of its body does not come.
func (h *handler) takeForBody(c *call, n int64) error {
	if c.held != nil {
		return h.memory.take(c, n-c.held.n)
	}
	if err := h.memory.take(c, n); err != nil {
		return err
	}
	control := http.NewResponseController(c.w)
	h.memory.wait(c.held, func() error { return control.SetReadDeadline(time.Now()) })
	return nil
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
