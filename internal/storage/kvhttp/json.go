package kvhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// decoder reads a body token by token, in half the time that decoding into a struct takes.
// Bytes that are no UTF-8, halves of surrogate pairs and members that come twice are errors:
// package json would make one key of two.
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

// mustBeText refuses a text that JSON cannot carry. Package json would replace each
// byte that is no UTF-8 by U+FFFD.
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
