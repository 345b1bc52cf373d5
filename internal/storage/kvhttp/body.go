package kvhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// body reads a request's whole body before anything is done, so that a client
// that dies half-way changes nothing and one that is slow holds no lock. It takes
// memory as the bytes arrive, not as they are announced; ServeHTTP gives it back.
func (h *handler) body(c *call) ([]byte, error) {
	p, err := h.receive(c)
	defer p.giveBack()
	if err != nil {
		return nil, err
	}
	return p.bytes(), nil
}

// text is body, as a string that has not been copied more than once.
func (h *handler) text(c *call) (string, error) {
	p, err := h.receive(c)
	defer p.giveBack()
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

func (h *handler) receive(c *call) (pieces, error) {
	p, err := h.readBody(c)
	c.flow.rest() // else a second turn would wait for the first one
	if gone := h.memory.proceed(c.held); gone != nil {
		return p, refuseRest(c, gone)
	}
	if n := p.len(); err == nil && n > small {
		err = h.work(c, n)
	}
	return p, err
}

func (h *handler) readBody(c *call) (pieces, error) {
	announced := c.r.ContentLength // -1: not known
	if announced > h.Limits.Body {
		return nil, h.tooLarge(c)
	}
	room := int64(small)
	if announced >= 0 {
		room = min(announced, small)
	}
	last := &c.first
	if last.b = c.buffer[:0]; room <= int64(len(c.buffer)) {
		last.b = last.b[:0:room]
	} else {
		last.b = make([]byte, 0, room)
	}
	p := append(pieces(c.pieces[:0]), last)
	for n := int64(0); n != announced; {
		if n == room {
			more := min(room+small, h.Limits.Body+1-room)
			if announced >= 0 {
				more = min(more, announced-room)
			}
			room += more
			if err := h.takeForBody(c, room); err != nil {
				return p, refuseRest(c, err)
			}
			last = newPiece(int(more))
			p = append(p, last)
		}
		got, err := last.read(c.r.Body)
		n += int64(got)
		if c.held != nil {
			c.held.moved.Add(int64(got))
		}
		if n > h.Limits.Body {
			return p, h.tooLarge(c)
		}
		switch {
		case errors.Is(err, io.EOF):
			return p, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return p, refuseRest(c, &httpError{http.StatusRequestTimeout, fmt.Errorf("the body did not come in time: %w", err)})
		case err != nil:
			return p, badRequest("the body ends early: %w", err)
		}
	}
	return p, nil
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
