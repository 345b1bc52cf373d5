package kvhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// batch is the body of POST /v1/batch.
type batch struct {
	Ops []batchOp `json:"ops"`
}

type batchOp struct {
	Op  string  `json:"op"` // write or delete
	Key string  `json:"key"`
	Val *string `json:"val,omitempty"` // of a write
}

func (h *handler) serveBatch(c *call) error {
	claim, err := fencehttp.ParseClaim(c.r.Header, "")
	if err != nil {
		return err
	}
	if claim.Scope == "" {
		return badRequest("a batch needs the header %s: its keys have one lock", fencehttp.HeaderScope)
	}
	b, err := h.body(c)
	if err != nil {
		return err
	}
	if err := h.work(c, len(b)); err != nil { // also for a small one: it has many operations
		return err
	}
	in, err := decodeBatch(b)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		return badRequest("the batch has 0 operations, want 1 to %d in \"ops\"", kv.MaxOps)
	}
	ops := make([]kv.Op, len(in))
	for i := range in {
		if ops[i], err = in[i].op(&h.Limits); err != nil {
			return fmt.Errorf("ops[%d]: %w", i, err)
		}
	}
	return h.write(c, claim, ops...)
}

// op checks what a batch asks for.
func (b *batchOp) op(l *Limits) (kv.Op, error) {
	if err := l.key(b.Key); err != nil {
		return kv.Op{}, err
	}
	switch {
	case b.Op == kv.OpWrite && b.Val != nil:
		return kv.Op{Kind: kv.OpWrite, Key: b.Key, Value: *b.Val}, l.value(len(*b.Val))
	case b.Op == kv.OpWrite:
		return kv.Op{}, badRequest("a write needs a \"val\"")
	case b.Op == kv.OpDelete && b.Val == nil:
		return kv.Op{Kind: kv.OpDelete, Key: b.Key}, nil
	case b.Op == kv.OpDelete:
		return kv.Op{}, badRequest("a delete has no \"val\"")
	}
	return kv.Op{}, badRequest("unknown op %.32q, want \"write\" or \"delete\"", b.Op)
}

// decode reads one JSON value that fills the whole body. Bytes that are no UTF-8 and
// halves of surrogate pairs are errors. Package json would replace each by U+FFFD,
// and two different keys could become the same.
func decode(b []byte, into any, strict bool) error {
	text := jsontext.NewDecoder(bytes.NewBuffer(b))
	value, err := text.ReadValue()
	switch {
	case errors.Is(err, io.EOF):
		return badRequest("the body is empty, want a JSON object")
	case err != nil:
		return badRequest("the body is not the JSON wanted: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return badRequest("the body is not the JSON wanted: %w", err)
	}
	if _, err := text.ReadToken(); !errors.Is(err, io.EOF) {
		return badRequest("the body goes on after its JSON object")
	}
	return nil
}

// mustBeText refuses a text that JSON cannot carry. Package json would replace each
// byte that is no UTF-8 by U+FFFD.
func mustBeText(what, s, instead string) error {
	if utf8.ValidString(s) {
		return nil
	}
	return &httpError{http.StatusNotAcceptable, fmt.Errorf("%s is not UTF-8, from byte %d on, and JSON can carry nothing else: %s", what, invalidAt(s), instead)}
}

// invalidAt is where s stops being UTF-8.
func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(s)
}
