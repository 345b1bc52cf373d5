package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Etcd is the engine that keeps everything in an etcd cluster: value, mark and sequence go in one Txn. It has
// no state of its own, so that any number of storages can stand before one cluster.
type Etcd struct {
	client  *clientv3.Client
	kv      clientv3.KV // below the prefix
	account account     // in the order of the Txns of this storage
}

// etcdItems begins the keys of items, beside those of package fenceetcd.
const etcdItems = "items/"

// etcdTimeout is how long a request to etcd may take: longer than an election.
const etcdTimeout = 5 * time.Second

// NewEtcd makes an engine that keeps its keys below prefix. The client stays the caller's.
func NewEtcd(client *clientv3.Client, prefix string, o Options) *Etcd {
	return &Etcd{client: client, kv: namespace.NewKV(client, prefix), account: account{Options: o}}
}

// Write implements Engine. Of a key that ops name twice only the last counts, as
// it would after all; etcd takes no more.
func (e *Etcd) Write(ctx context.Context, req Request, ops ...Op) error {
	var puts []clientv3.Op
	last := make(map[string]int, len(ops))
	for i, op := range ops {
		last[op.Key] = i
	}
	for i, op := range ops {
		switch {
		case last[op.Key] != i:
		case op.Kind == OpDelete:
			puts = append(puts, clientv3.OpDelete(etcdItems+op.Key))
		default:
			puts = append(puts, clientv3.OpPut(etcdItems+op.Key, string(encodeItem(Item{Value: op.Value, Token: req.Token}))))
		}
	}
	_, err := e.do(ctx, req, ops, puts...)
	return err
}

func (e *Etcd) Read(ctx context.Context, req Request, key string) (item Item, err error) {
	req.Sequence = 0 // as for Memory
	if req.Token != 0 && !e.account.Unfenced {
		return e.do(ctx, req, []Op{{Kind: OpRead, Key: key}}, clientv3.OpGet(etcdItems+key))
	}
	ctx, done := e.begin(ctx)
	defer done()
	resp, err := e.kv.Get(ctx, etcdItems+key)
	if err != nil {
		return Item{}, unavailable(err)
	}
	item, err = found(key, resp.Kvs)
	e.account.tell(req, []Op{{Kind: OpRead, Key: key, Value: item.Value}}, err)
	return item, err
}

// do does what puts says, if req is admitted, and tells the observer of ops. It
// returns the item where they are a read.
func (e *Etcd) do(ctx context.Context, req Request, ops []Op, puts ...clientv3.Op) (item Item, err error) {
	ctx, done := e.begin(ctx)
	defer done()
	if err := e.checkBound(ctx, req.Claim); err != nil {
		e.account.tell(req, ops, err)
		return Item{}, err
	}
	start := time.Now()
	var resp *clientv3.TxnResponse
	if e.account.Unfenced {
		resp, err = e.kv.Txn(ctx).Then(puts...).Commit()
	} else {
		resp, err = fenceetcd.Do(ctx, e.kv, req.Claim, puts...)
	}
	err = failure(err)
	if e.account.Committed != nil && (err == nil || !judged(err)) {
		e.account.Committed(Commit{Operations: 1, Took: time.Since(start), Err: err})
	}
	if err == nil && len(ops) == 1 && ops[0].Kind == OpRead {
		item, err = found(ops[0].Key, resp.Responses[0].GetResponseRange().GetKvs())
		ops[0].Value = item.Value
	}
	e.account.tell(req, ops, err)
	return item, err
}

// begin bounds the time of a request to etcd, of which the observer is told before done. That a client has left is no reason
// to break one off: what it did would be known to nobody.
func (e *Etcd) begin(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), etcdTimeout)
	told := e.account.ordered()
	return ctx, func() { told(); cancel() }
}

// checkBound asks the issuer, and where it refuses or does not answer, whether the
// token was admitted before: then it was issued.
func (e *Etcd) checkBound(ctx context.Context, c fence.Claim) error {
	if e.account.Bound == nil || e.account.Unfenced {
		return nil
	}
	refused := c.CheckBound(e.account.Bound)
	if refused == nil {
		return nil
	}
	if m, err := e.Mark(ctx, c.Scope); err == nil && c.Token <= m.Highest() {
		return nil
	}
	return refused
}

func (e *Etcd) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	m, err := fenceetcd.Mark(ctx, e.kv, scope)
	return m, unavailable(err)
}

func (e *Etcd) Floor(ctx context.Context) (fence.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	floor, err := fenceetcd.Floor(ctx, e.kv)
	return floor, unavailable(err)
}

// Raise implements Engine. It takes as long as it takes; after an error it may be called again.
func (e *Etcd) Raise(ctx context.Context, floor fence.Token) (int, error) {
	if _, err := e.Floor(ctx); err != nil { // nobody waits for ever for an etcd that is away
		return 0, err
	}
	dropped, err := fenceetcd.Raise(ctx, e.kv, floor)
	return dropped, failure(err)
}

// Stats implements Engine. How many bytes values have etcd does not tell; Disk is the size of one member's
// database, whatever else it holds. A scope with marks of both modes counts twice.
func (e *Etcd) Stats(ctx context.Context) (Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	s := Stats{Bytes: -1}
	for prefix, n := range map[string]*int64{etcdItems: &s.Keys, fenceetcd.Prefix: &s.Marks, fenceetcd.SharedPrefix: &s.Marks} {
		resp, err := e.kv.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return Stats{}, unavailable(err)
		}
		*n += resp.Count
	}
	status, err := e.client.Status(ctx, e.client.Endpoints()[0])
	if err == nil { // else that member is away, and the others serve
		s.Disk = status.DbSize
	}
	return s, nil
}

// Ready implements Engine: a read that needs a quorum.
func (e *Etcd) Ready(ctx context.Context) error {
	_, err := e.kv.Get(ctx, etcdItems, clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("etcd at %s: %w", strings.Join(e.client.Endpoints(), ", "), err)
	}
	return nil
}

func (e *Etcd) Close() error { return nil }

// found is the item among the answer to a Get of key.
func found(key string, kvs []*mvccpb.KeyValue) (Item, error) {
	if len(kvs) == 0 {
		return Item{}, ErrNotFound
	}
	return decodeItem(key, kvs[0].Value)
}

// unavailable is the error of a request to etcd that changes nothing.
func unavailable(err error) error {
	if err == nil || fencehttp.ReasonOf(err) != "" {
		return err
	}
	return fence.Definite.Wrap(fmt.Errorf("%w: %w", ErrUnavailable, err))
}

// failure is the error of a request to etcd that changes something: its outcome, and what to do.
func failure(err error) error {
	switch {
	case err == nil || judged(err):
		return err
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return &LimitError{Limit: LimitOps, Say: fmt.Sprintf("start etcd with --max-txn-ops %d", MaxOps+fenceetcd.ExtraOps)}
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return &LimitError{Limit: LimitBody, Say: "start etcd with a larger --max-request-bytes"}
	case fenceetcd.Definite(err):
		return unavailable(err)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fence.Unknown.Wrap(fmt.Errorf("%w, the outcome is unknown: %w", ErrDisk, err))
	}
	return fence.Unknown.Wrap(fmt.Errorf("%w, the outcome is unknown: %w", ErrUnavailable, err))
}
