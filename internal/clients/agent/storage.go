package agent

import (
	"context"
	"errors"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// storage is where a request goes: to the lock service, if the data lies there.
func (a *agent) storage(r *request) service.Data {
	if a.Storage != nil {
		return overHTTP{a.Storage}
	}
	var under service.Tenure
	if r.held != nil {
		under = r.held.Tenure
	}
	data, within := a.Locks.(service.Store).Under(under)
	if within {
		return inside{data}
	}
	return data
}

// inside is data whose requests are done with the unlock, or not at all.
type inside struct{ service.Data }

// overHTTP is the storage that is a server of its own.
type overHTTP struct{ *kvhttp.Client }

// Do implements service.Data.
func (s overHTTP) Do(ctx context.Context, ask *history.Event) (err error) {
	req := kv.Request{ID: ask.Request, Claim: fence.Claim{Scope: ask.Scope, Token: ask.Token, Sequence: ask.Sequence, Mode: ask.Mode}}
	switch ask.Op {
	case history.OpRead:
		var item kv.Item
		item, err = s.Read(ctx, req, ask.Key)
		ask.Value = item.Value
		if errors.Is(err, kv.ErrNotFound) {
			ask.Missing, err = true, nil
		}
	case history.OpWrite:
		_, err = s.Write(ctx, req, ask.Key, ask.Value)
	case history.OpDelete:
		_, err = s.Delete(ctx, req, ask.Key)
	case history.OpChange:
		var ops []kv.Op
		for _, c := range ask.Changes {
			ops = append(ops, kv.Op{Kind: kv.OpWrite, Key: c.Key, Value: c.Value})
		}
		_, err = s.Batch(ctx, req, ops...)
	}
	return err
}
