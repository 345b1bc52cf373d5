package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// serveKey is PUT, GET, HEAD and DELETE of /v1/kv/{key}. The key is all that
// comes after, slashes too; the value is the body as it is.
func (h *handler) serveKey(w http.ResponseWriter, r *http.Request) error {
	key := strings.TrimPrefix(r.URL.Path, pathKV)
	if key == "" {
		return badRequest("the key is empty, want %s{key}", pathKV)
	}
	claim, err := fencehttp.ParseClaim(r.Header, key)
	if err != nil {
		return err
	}
	req := Request{Claim: claim, ID: r.Header.Get(HeaderRequestID)}
	switch r.Method {
	case http.MethodPut:
		b, err := h.body(w, r)
		if err != nil {
			return err
		}
		if err := h.engine.Write(r.Context(), req, Op{OpWrite, key, string(b)}); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodDelete:
		if err := h.engine.Write(r.Context(), req, Op{Kind: OpDelete, Key: key}); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodGet, http.MethodHead:
		item, err := h.engine.Read(r.Context(), req, key)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		if item.Token != 0 {
			w.Header().Set(fencehttp.HeaderToken, item.Token.String())
		}
		if _, err := io.WriteString(w, item.Value); err != nil {
			return &answered{fmt.Errorf("the client left: %w", err)}
		}
		return nil
	}
	return allow(w, r, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete)
}

// MaxBatch is how many operations a batch may have.
const MaxBatch = 1024

// batch is the body of POST /v1/batch.
type batch struct {
	Ops []struct {
		Op  string  `json:"op"` // write or delete
		Key string  `json:"key"`
		Val *string `json:"val"` // of a write
	} `json:"ops"`
}

func (h *handler) serveBatch(w http.ResponseWriter, r *http.Request) error {
	if err := allow(w, r, http.MethodPost); err != nil {
		return err
	}
	claim, err := fencehttp.ParseClaim(r.Header, "")
	if err != nil {
		return err
	}
	if claim.Scope == "" {
		return badRequest("a batch needs the header %s: its keys have one lock", fencehttp.HeaderScope)
	}
	b, err := h.body(w, r)
	if err != nil {
		return err
	}
	var in batch
	if err := decode(b, &in, true); err != nil {
		return err
	}
	if len(in.Ops) == 0 || len(in.Ops) > MaxBatch {
		return badRequest("the batch has %d operations, want 1 to %d in \"ops\"", len(in.Ops), MaxBatch)
	}
	ops := make([]Op, len(in.Ops))
	for i, op := range in.Ops {
		switch {
		case op.Key == "":
			return badRequest("ops[%d]: the key is empty", i)
		case op.Op == OpWrite && op.Val != nil:
			ops[i] = Op{OpWrite, op.Key, *op.Val}
		case op.Op == OpWrite:
			return badRequest("ops[%d]: a write needs a \"val\"", i)
		case op.Op == OpDelete && op.Val == nil:
			ops[i] = Op{Kind: OpDelete, Key: op.Key}
		case op.Op == OpDelete:
			return badRequest("ops[%d]: a delete has no \"val\"", i)
		default:
			return badRequest("ops[%d]: unknown op %.32q, want \"write\" or \"delete\"", i, op.Op)
		}
	}
	if err := h.engine.Write(r.Context(), Request{Claim: claim, ID: r.Header.Get(HeaderRequestID)}, ops...); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// mark is the answer of GET /v1/marks/{scope}.
type mark struct {
	Scope    string      `json:"scope"`
	Token    fence.Token `json:"token,string"`
	Sequence int64       `json:"sequence,string"`
}

func (h *handler) serveMark(w http.ResponseWriter, r *http.Request) error {
	if err := allow(w, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	scope := strings.TrimPrefix(r.URL.Path, pathMarks)
	if scope == "" {
		return badRequest("the scope is empty, want %s{scope}", pathMarks)
	}
	m, err := h.engine.Mark(r.Context(), scope)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(mark{scope, m.Token, m.Sequence})
}

// decode reads one JSON value that fills the whole body. Bytes that are no UTF-8
// are an error: they would silently become other characters.
func decode(b []byte, into any, strict bool) error {
	if !utf8.Valid(b) {
		return badRequest("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return badRequest("the body is empty, want a JSON object")
		}
		return badRequest("the body is not the JSON wanted: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body goes on after its JSON object")
	}
	return nil
}
