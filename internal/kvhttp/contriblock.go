package kvhttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/internal/access"
	"github.com/fencelab/fencelab/internal/kv"
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

// ContribResponse is its response. Err is empty where the request was done;
// otherwise Version is -1.
type ContribResponse struct {
	Val     string `json:"val"`
	Version int64  `json:"version"`
	Err     string `json:"err"`
}

// serveContribLock is POST /, the protocol of etcd's contrib/lock, byte for byte
// but for one rule: a newer version replaces an older one, where contrib/lock
// refuses every version that differs. As there, a request that was understood is
// answered with status 200, also where it was refused, and a read's version
// means nothing.
func (h *handler) serveContribLock(c *call) error {
	if err := c.allow(http.MethodPost); err != nil {
		return err
	}
	resp, err := h.contribLock(c)
	status := http.StatusOK
	if err != nil {
		resp = ContribResponse{Version: -1, Err: contribError(err)}
		if !errors.Is(err, kv.ErrNotFound) && !errors.Is(err, fence.ErrStale) {
			p := newProblem(err)
			p.setHeaders(c.w.Header(), err)
			status = p.Status
		}
		err = &answered{err}
	}
	b, merr := json.Marshal(resp)
	if merr != nil {
		return merr
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	if _, werr := c.w.Write(b); err == nil && werr != nil {
		err = &answered{fmt.Errorf("the client left: %w", werr)}
	}
	return err
}

func (h *handler) contribLock(c *call) (ContribResponse, error) {
	b, err := h.body(c)
	if err != nil {
		return ContribResponse{}, err
	}
	var in ContribRequest
	if err := decode(b, &in, false); err != nil {
		return ContribResponse{}, err
	}
	if err := cmp.Or(h.Limits.key(in.Key), h.Limits.value(len(in.Val))); err != nil {
		return ContribResponse{}, err
	}
	req := c.request(fence.Claim{Scope: in.Key})
	switch in.Op {
	case kv.OpRead:
		if err := c.mayRead(req.Claim, in.Key); err != nil {
			return ContribResponse{}, err
		}
		item, err := h.engine.Read(c.r.Context(), req, in.Key)
		return ContribResponse{Val: item.Value, Version: int64(item.Token)}, err
	case kv.OpWrite:
		if err := c.who.May(access.Write, in.Key, in.Key); err != nil {
			return ContribResponse{}, err
		}
		req.Token = fence.Token(in.Version)
		c.claim = req.Claim
		err := h.engine.Write(c.r.Context(), req, kv.Op{Kind: kv.OpWrite, Key: in.Key, Value: in.Val})
		return ContribResponse{Val: in.Val, Version: in.Version}, err
	}
	return ContribResponse{}, badRequest("unknown op: %.32q, want \"read\" or \"write\"", in.Op)
}

// contribError says an error in contrib/lock's words, where it has words for it.
func contribError(err error) string {
	var stale *fence.StaleError
	if errors.As(err, &stale) {
		return fmt.Sprintf("given version (%x) is older than the existing version (%x)", int64(stale.Token), int64(stale.Mark))
	}
	return err.Error()
}
