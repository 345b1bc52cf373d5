package kv

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

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
func (h *handler) serveContribLock(w http.ResponseWriter, r *http.Request) error {
	if err := allow(w, r, http.MethodPost); err != nil {
		return err
	}
	resp, err := h.contribLock(w, r)
	status := http.StatusOK
	if err != nil {
		resp = ContribResponse{Version: -1, Err: contribError(err)}
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, fence.ErrStale) {
			status = problem(err).Status
		}
		err = &answered{err}
	}
	b, merr := json.Marshal(resp)
	if merr != nil {
		return merr
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, werr := w.Write(b); err == nil && werr != nil {
		err = &answered{fmt.Errorf("the client left: %w", werr)}
	}
	return err
}

func (h *handler) contribLock(w http.ResponseWriter, r *http.Request) (ContribResponse, error) {
	b, err := h.body(w, r)
	if err != nil {
		return ContribResponse{}, err
	}
	var in ContribRequest
	if err := decode(b, &in, false); err != nil {
		return ContribResponse{}, err
	}
	if in.Key == "" {
		return ContribResponse{}, badRequest("the key is empty")
	}
	req := Request{Claim: fence.Claim{Scope: in.Key}, ID: r.Header.Get(HeaderRequestID)}
	switch in.Op {
	case OpRead:
		item, err := h.engine.Read(r.Context(), req, in.Key)
		return ContribResponse{Val: item.Value, Version: int64(item.Token)}, err
	case OpWrite:
		req.Token = fence.Token(in.Version)
		err := h.engine.Write(r.Context(), req, Op{OpWrite, in.Key, in.Val})
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
