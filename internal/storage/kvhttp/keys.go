package kvhttp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// serveKey is PUT, GET, HEAD and DELETE of /v1/kv/{key}. The key is all that
// comes after, slashes too; the value is the body as it is.
func (h *handler) serveKey(c *call) error {
	key := strings.TrimPrefix(c.r.URL.Path, pathKV)
	if err := h.Limits.key(key); err != nil {
		return err
	}
	claim, err := fencehttp.ParseClaim(c.r.Header, key)
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodPut:
		return h.put(c, claim, key)
	case http.MethodDelete:
		return h.write(c, claim, kv.Op{Kind: kv.OpDelete, Key: key})
	default:
		return h.get(c, claim, key)
	}
}

func (h *handler) put(c *call, claim fence.Claim, key string) error {
	// Before the body: who may not write need not send it.
	if err := c.who.May(access.Write, claim.Scope, key); err != nil {
		return err
	}
	value, err := h.body(c)
	if err != nil {
		return err
	}
	if err := h.Limits.value(len(value)); err != nil {
		return err
	}
	c.op[0] = kv.Op{Kind: kv.OpWrite, Key: key, Value: string(value)}
	return h.write(c, claim, c.op[:]...)
}

// write does ops, if c may, and answers.
func (h *handler) write(c *call, claim fence.Claim, ops ...kv.Op) error {
	for _, op := range ops {
		if err := c.who.May(access.Write, claim.Scope, op.Key); err != nil {
			return err
		}
	}
	if err := h.engine.Write(c.context(), c.request(claim), ops...); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// mayRead checks the right to read. A read with a token raises the mark: it needs the right to write as well.
func (c *call) mayRead(claim fence.Claim, key string) error {
	if claim.Token == 0 {
		return c.who.May(access.Read, "", key)
	}
	return cmp.Or(c.who.May(access.Read, claim.Scope, key), c.who.May(access.Write, claim.Scope))
}

func (h *handler) get(c *call, claim fence.Claim, key string) error {
	if err := c.mayRead(claim, key); err != nil {
		return err
	}
	item, err := h.engine.Read(c.context(), c.request(claim), key)
	if err != nil {
		return err
	}
	if err := h.memory.take(c, int64(len(item.Value))); err != nil {
		return err
	}
	if item.Token != 0 {
		c.w.Header().Set(fencehttp.HeaderToken, item.Token.String())
	}
	return c.send(http.StatusOK, "application/octet-stream", item.Value)
}

// send answers with a text of a media type.
func (c *call) send(status int, mediaType, text string) error {
	c.w.Header().Set("Content-Type", mediaType)
	c.w.WriteHeader(status)
	if _, err := io.WriteString(c.w, text); err != nil {
		return &answered{fmt.Errorf("the client left: %w", err)}
	}
	return nil
}

// mark is the answer of GET /v1/marks/{scope}.
type mark struct {
	Scope    string      `json:"scope"`
	Token    fence.Token `json:"token,string"`
	Sequence int64       `json:"sequence,string"`
	Shared   fence.Token `json:"shared,string"`
}

func (h *handler) serveMark(c *call) error {
	scope := strings.TrimPrefix(c.r.URL.Path, pathMarks)
	if scope == "" {
		return badRequest("the scope is empty, want %s{scope}", pathMarks)
	}
	if err := cmp.Or(c.who.May(access.Read, scope), mustBeText("the scope", scope, "the snapshot has the marks of all scopes")); err != nil {
		return err
	}
	m, err := h.engine.Mark(c.context(), scope)
	if err != nil {
		return err
	}
	return c.json(mark{scope, m.Token, m.Sequence, m.Shared})
}

// floor is the answer of GET and PUT /v1/floor, and the body of PUT.
type floor struct {
	Token   fence.Token `json:"token,string"`
	Dropped int         `json:"dropped"` // marks, by this PUT
}

// serveFloor tells the floor or raises it. Marks below a raised floor are dropped. A
// lower floor changes nothing; the answer has the floor that is in force.
func (h *handler) serveFloor(c *call) error {
	var answer floor
	if c.r.Method == http.MethodPut {
		if err := c.who.May(access.Admin, ""); err != nil {
			return err
		}
		b, err := h.body(c)
		if err != nil {
			return err
		}
		token, err := decodeFloor(b)
		if err != nil {
			return badRequest("want {\"token\":\"DECIMAL\"}: %w", err)
		}
		if h.Bound != nil {
			// The floor may be the last token that was issued, plus one: all tokens are below it then.
			if err := (fence.Claim{Token: token - 1}).CheckBound(h.Bound); err != nil {
				return fmt.Errorf("floor %d: %w", token, err)
			}
		}
		if answer.Dropped, err = h.engine.Raise(c.context(), token); err != nil {
			return err
		}
		level := slog.LevelInfo
		if h.Bound == nil { // nobody could say whether it is too high, and it stays
			level = slog.LevelWarn
		}
		h.Logger.Log(c.r.Context(), level, "floor raised", "token", token, "dropped", answer.Dropped, "client", h.client(c), "request", c.id())
	} else if err := c.who.May(access.Read, ""); err != nil {
		return err
	}
	var err error
	if answer.Token, err = h.engine.Floor(c.context()); err != nil {
		return err
	}
	return c.json(answer)
}

// decodeFloor reads the body of PUT /v1/floor, which must be all of b.
func decodeFloor(b []byte) (fence.Token, error) {
	var text string
	err := decode(b, func(d *decoder) error {
		return d.object(func(name string) (err error) {
			if !strings.EqualFold(name, "token") {
				return unknownField(name)
			}
			text, err = d.text()
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return fence.ParseToken(text)
}

func (c *call) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, "application/json", string(b)+"\n")
}

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
