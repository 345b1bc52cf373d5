package kvhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

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

// decoder reads a body token by token, in half the time that decoding into a struct takes. Bytes that are no UTF-8,
// halves of surrogate pairs and members that come twice are errors: package json would make one key of two.
type decoder struct {
	json    jsontext.Decoder
	body    bytes.Buffer
	scratch []byte // of unquote
}

// decoders are not in use. To make one costs more than to read a small body.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decode has read read all of b, which must be one JSON value.
func decode(b []byte, read func(*decoder) error) error {
	d := decoders.Get().(*decoder)
	d.reset(b)
	err := read(d)
	if err == nil {
		if _, end := d.json.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("it goes on after its JSON object")
		}
	}
	at := d.json.InputOffset()
	if len(b) <= small { // what was made to read a large one is not kept
		d.reset(nil)
		decoders.Put(d)
	}
	if _, over := errors.AsType[*kv.LimitError](err); over || err == nil {
		return err
	}
	if errors.Is(err, io.EOF) {
		return badRequest("the body is empty, want a JSON object")
	}
	return badRequest("the body is not the JSON wanted: at byte %d: %w", at, err)
}

// reset begins with b, which must not change until the next call.
func (d *decoder) reset(b []byte) {
	d.body = *bytes.NewBuffer(b)
	d.json.Reset(&d.body)
}

// object reads an object, of which member reads each value.
func (d *decoder) object(member func(name string) error) error {
	if err := d.begin('{'); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.text()
		if err == nil {
			err = member(name)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

func (d *decoder) begin(want jsontext.Kind) error {
	t, err := d.json.ReadToken()
	if err == nil && t.Kind() != want {
		err = fmt.Errorf("want %v, got %v", want, t.Kind())
	}
	return err
}

func (d *decoder) text() (string, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return "", err
	}
	return d.unquote(v)
}

// unquote is the text of a string. It spares the copy of words of the protocol.
func (d *decoder) unquote(v jsontext.Value) (_ string, err error) {
	if v.Kind() != '"' {
		return "", fmt.Errorf("want a string, got %v", v.Kind())
	}
	if d.scratch, err = jsontext.AppendUnquote(d.scratch[:0], v); err != nil {
		return "", err
	}
	for _, word := range [...]string{"op", "key", "val", "version", kv.OpWrite, kv.OpDelete, kv.OpRead} {
		if string(d.scratch) == word {
			return word, nil
		}
	}
	return string(d.scratch), nil
}

func unknownField(name string) error { return fmt.Errorf("unknown field %.32q", name) }

// mustBeText refuses a text that JSON cannot carry. Package json would replace each byte that is no UTF-8 by U+FFFD.
func mustBeText(what, s, instead string) error {
	if utf8.ValidString(s) {
		return nil
	}
	at := 0
	for r, n := utf8.DecodeRuneInString(s); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRuneInString(s[at:]) {
		at += n
	}
	return &httpError{http.StatusNotAcceptable, fmt.Errorf("%s is not UTF-8, from byte %d on, and JSON can carry nothing else: %s", what, at, instead)}
}
