package kvhttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// ContribRequest is the request of the protocol of etcd's contrib/lock. It names
// no lock: the key is the scope. Version is the fencing token.
type ContribRequest struct {
	Op      string `json:"op"` // read or write
	Key     string `json:"key"`
	Val     string `json:"val"`
	Version int64  `json:"version"`
}

// ContribResponse is its response. Err is empty where the request was done; otherwise Version is -1.
type ContribResponse struct {
	Val     string `json:"val"`
	Version int64  `json:"version"`
	Err     string `json:"err"`
}

// serveContribLock is POST /, the protocol of etcd's contrib/lock, byte for byte but for one rule: a newer
// version replaces an older one, where contrib/lock refuses every version that differs. As there, a request
// that was understood is answered with status 200, also where it was refused, and a read's version means
// nothing.
func (h *handler) serveContribLock(c *call) error {
	b, err := h.contribLock(c)
	status := http.StatusOK
	if err != nil {
		if p := newProblem(err); p.Status != http.StatusNotFound && p.Status != http.StatusPreconditionFailed {
			p.setHeaders(c.w.Header(), err)
			status = p.Status
		}
		b, _ = json.Marshal(ContribResponse{Version: -1, Err: contribError(err)}) // a number and a text: it cannot fail
		err = &answered{err}
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	if _, werr := c.w.Write(b); err == nil && werr != nil {
		err = &answered{fmt.Errorf("the client left: %w", werr)}
	}
	return err
}

// contribLock does what is asked for and returns the answer, whose memory it
// takes from the budget before the engine changes anything.
func (h *handler) contribLock(c *call) ([]byte, error) {
	if err := h.admit(c); err != nil {
		return nil, err
	}
	b, err := h.body(c)
	if err != nil {
		return nil, err
	}
	in, err := decodeContrib(b)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(h.Limits.key(in.Key), h.Limits.value(len(in.Val))); err != nil {
		return nil, err
	}
	req := c.request(fence.Claim{Scope: in.Key})
	switch in.Op {
	case kv.OpRead:
		if err := c.mayRead(req.Claim, in.Key); err != nil {
			return nil, err
		}
		item, err := h.engine.Read(c.context(), req, in.Key)
		if err != nil {
			return nil, err
		}
		if err := mustBeText("the value", item.Value, "read it by GET "+pathKV+url.PathEscape(in.Key)); err != nil {
			return nil, err
		}
		return h.contribAnswer(c, item.Value, int64(item.Token))
	case kv.OpWrite:
		if err := c.who.May(access.Write, in.Key, in.Key); err != nil {
			return nil, err
		}
		answer, err := h.contribAnswer(c, in.Val, in.Version)
		if err != nil {
			return nil, err
		}
		req.Token = fence.Token(in.Version)
		c.claim = req.Claim
		c.op[0] = kv.Op{Kind: kv.OpWrite, Key: in.Key, Value: in.Val}
		return answer, h.engine.Write(c.context(), req, c.op[:]...)
	}
	return nil, badRequest("unknown op: %.32q, want \"read\" or \"write\"", in.Op)
}

// contribAnswer is the answer of a request that was done.
func (h *handler) contribAnswer(c *call, val string, version int64) ([]byte, error) {
	b, err := json.Marshal(ContribResponse{Val: val, Version: version})
	if err != nil {
		return nil, err
	}
	return b, h.memory.take(c, int64(len(b)))
}

// contribError says an error in contrib/lock's words, where it has words for it.
func contribError(err error) string {
	stale, is := errors.AsType[*fence.StaleError](err)
	if !is {
		return err.Error()
	}
	how := "older than"
	if stale.Token > stale.Mark { // kv.FlawDiffers refuses it
		how = "different from"
	}
	return fmt.Sprintf("given version (%x) is %s the existing version (%x)", int64(stale.Token), how, int64(stale.Mark))
}

// decodeContrib reads a request, which must be all of b. It takes what package json takes, which
// contrib/lock's own storage uses: names in any case, members that are unknown, and null in place of a value.
func decodeContrib(b []byte) (in ContribRequest, err error) {
	err = decode(b, func(d *decoder) error {
		if d.json.PeekKind() == 'n' {
			_, err := d.json.ReadToken()
			return err
		}
		return d.object(func(name string) error { return in.member(d, name) })
	})
	return in, err
}

func (in *ContribRequest) member(d *decoder, name string) error {
	value, err := d.json.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return err
	}
	switch {
	case strings.EqualFold(name, "op"):
		in.Op, err = d.unquote(value)
	case strings.EqualFold(name, "key"):
		in.Key, err = d.unquote(value)
	case strings.EqualFold(name, "val"):
		in.Val, err = d.unquote(value)
	case strings.EqualFold(name, "version"):
		if in.Version, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			err = fmt.Errorf("want an int64, got %.32s", value)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}
