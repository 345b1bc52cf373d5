package e2e

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// store is a client of a storage, and all that is known of its types here.
type store struct{ client *kvhttp.Client }

func newStore(url string) store { return store{kvhttp.NewClient(url, kvhttp.ClientOptions{})} }

func (s store) close() { s.client.Close() }

// do does an operation. happened is false where it definitely did not, for a
// reason that is none of fencing.
func (s store) do(ctx context.Context, in linear.Input) (out linear.Output, happened bool) {
	req := kv.Request{Claim: fence.Claim{Scope: in.Scope, Token: fence.Token(in.Token), Sequence: in.Sequence}}
	if in.Shared {
		req.Mode = fence.Shared
	}
	var duplicate bool
	var err error
	switch in.Kind {
	case linear.Read:
		var item kv.Item
		item, err = s.client.Read(ctx, req, in.Key)
		out.Value, out.Token = item.Value, int64(item.Token)
	case linear.Mark:
		var mark fence.Mark
		mark, err = s.client.Mark(ctx, in.Scope)
		out.Mark, out.Sequence, out.Shared = int64(mark.Token), mark.Sequence, int64(mark.Shared)
	case linear.Write:
		duplicate, err = s.client.Write(ctx, req, in.Changes[0].Key, in.Changes[0].Value)
	case linear.Delete:
		duplicate, err = s.client.Delete(ctx, req, in.Changes[0].Key)
	case linear.Batch:
		ops := make([]kv.Op, len(in.Changes))
		for i, c := range in.Changes {
			ops[i] = kv.Op{Kind: kv.OpWrite, Key: c.Key, Value: c.Value}
			if c.Delete {
				ops[i].Kind = kv.OpDelete
			}
		}
		duplicate, err = s.client.Batch(ctx, req, ops...)
	}
	var stale *fence.StaleError
	var ahead *fence.AheadError
	switch {
	case err == nil && duplicate:
		out.Outcome = linear.Duplicate
	case err == nil:
		out.Outcome = linear.Done
	case fence.OutcomeOf(err) < fence.Lost:
		out.Outcome = linear.Unknown
	case errors.Is(err, kv.ErrNotFound):
		out.Outcome = linear.NotFound
	case errors.As(err, &stale):
		out.Outcome, out.Mark, out.Sequence = linear.Stale, int64(stale.Mark), stale.MarkSequence
	case errors.As(err, &ahead):
		out.Outcome, out.Bound = linear.Ahead, int64(ahead.Bound)
	case errors.Is(err, fence.ErrNoToken):
		out.Outcome = linear.Missing
	case errors.Is(err, fence.ErrInvalidToken), errors.Is(err, fence.ErrInvalidSequence):
		out.Outcome = linear.Invalid
	default:
		return out, false
	}
	return out, true
}

// TestOutcomesOfEngines: what may have been done goes into the history as unknown, and nothing
// else does.
func TestOutcomesOfEngines(t *testing.T) {
	t.Parallel()
	for _, fault := range kvtest.Faults() {
		srv := httptest.NewServer(kvhttp.NewHandler(kvtest.Failing{Engine: kv.NewMemory(kv.Options{}), Err: fault.Err}, kvhttp.Options{}))
		s := newStore(srv.URL)
		for _, kind := range []linear.Kind{linear.Read, linear.Write, linear.Delete, linear.Batch} {
			in := linear.Input{Kind: kind, Scope: "/lock", Token: 1, Key: "a", Changes: []linear.Change{{Key: "a", Value: "x"}}}
			if out, _ := s.do(t.Context(), in); (out.Outcome == linear.Unknown) != fault.Unknown {
				t.Errorf("kind %v of an engine that says %v: got %+v, want unknown %v", kind, fault.Err, out, fault.Unknown)
			}
		}
		s.close()
		srv.Close()
	}
}
