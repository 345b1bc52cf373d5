package kvhttp

import (
	"cmp"
	"fmt"
	"io"
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
