package kvhttp

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// body reads a request's whole body before anything is done, so that a client that dies half-way changes
// nothing and one that is slow holds no lock. It takes memory as the bytes arrive, not as they are announced;
// ServeHTTP gives it back. The body is not there any more when the engine is asked.
func (h *handler) body(c *call) ([]byte, error) {
	err := h.readBody(c)
	c.flow.rest() // else a second turn would wait for the first one
	if gone := h.memory.proceed(c.held); gone != nil {
		return nil, refuseRest(c, gone)
	}
	if n := len(c.body); err == nil && n > small {
		err = h.work(c, n)
	}
	return c.body, err
}

func (h *handler) readBody(c *call) error {
	announced := c.r.ContentLength // -1: not known
	if announced > h.Limits.Body {
		return h.tooLarge(c)
	}
	room := int64(small)
	if announced >= 0 {
		room = min(announced, small)
	}
	if c.body = c.buffer[:0]; room > int64(len(c.buffer)) {
		c.body = make([]byte, 0, room)
	}
	for n := int64(0); n != announced; {
		if n == room {
			more := min(room+small, h.Limits.Body+1-room)
			if announced >= 0 {
				more = min(more, announced-room)
			}
			room += more
			if err := h.takeForBody(c, room); err != nil {
				return refuseRest(c, err)
			}
			c.grow(int(room))
		}
		got, err := c.r.Body.Read(c.body[n:room])
		n += int64(got)
		c.body = c.body[:n]
		if c.held != nil {
			c.held.moved.Add(int64(got))
		}
		if n > h.Limits.Body {
			return h.tooLarge(c)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return refuseRest(c, &httpError{http.StatusRequestTimeout, fmt.Errorf("the body did not come in time: %w", err)})
		case err != nil:
			return badRequest("the body ends early: %w", err)
		}
	}
	return nil
}

// maxPooled is the largest buffer that is used again.
const maxPooled = 1 << 20

// buffers have more than small, by the number of bits of their size: to make room for a large
// body anew would cost more than to read it.
var buffers [1 + 20]sync.Pool

// grow has the call's body go on in a buffer with room for n bytes.
func (c *call) grow(n int) {
	var next []byte
	if class := bits.Len(uint(n - 1)); n > maxPooled {
		next = make([]byte, n)
	} else if used, ok := buffers[class].Get().(*[]byte); ok {
		next = *used
	} else {
		next = make([]byte, 1<<class)
	}
	next = append(next[:0], c.body...)
	c.dropBody()
	c.body = next
}

// dropBody ends the use of the call's body.
func (c *call) dropBody() {
	if n := cap(c.body); n > small && n <= maxPooled {
		used := c.body
		buffers[bits.Len(uint(n-1))].Put(&used)
	}
	c.body = nil
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

// refuseRest ends the connection after the answer: what is still to come of the body is not read.
func refuseRest(c *call, err error) error {
	c.w.Header().Set("Connection", "close")
	return err
}
