package kvhttp

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

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

// decodeBatch reads the body of POST /v1/batch, which must be all of b:
//
//	{"ops": [{"op": "write", "key": "a", "val": "1"}, ...]}
//
// Members that are unknown are errors.
func decodeBatch(b []byte) (ops []batchOp, err error) {
	err = decode(b, func(d *decoder) error {
		return d.object(func(name string) error {
			if name != "ops" {
				return unknownField(name)
			}
			ops, err = decodeOps(d)
			return err
		})
	})
	return ops, err
}

// decodeOps stops where there is one more than kv.MaxOps: three bytes, "{},", would be
// twenty times as many in memory.
func decodeOps(d *decoder) (ops []batchOp, err error) {
	if err := d.begin('['); err != nil {
		return nil, err
	}
	for d.json.PeekKind() != ']' {
		if len(ops) == kv.MaxOps {
			return nil, &kv.LimitError{Limit: kv.LimitOps, Max: kv.MaxOps}
		}
		var op batchOp
		if err := d.object(func(name string) error { return op.member(d, name) }); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	_, err = d.json.ReadToken()
	return ops, err
}

func (b *batchOp) member(d *decoder, name string) error {
	text, err := d.text()
	if err != nil {
		return fmt.Errorf("%.32q: %w", name, err)
	}
	switch name {
	case "op":
		b.Op = text
	case "key":
		b.Key = text
	case "val":
		b.Val = &text
	default:
		return unknownField(name)
	}
	return nil
}
