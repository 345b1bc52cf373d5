package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// etcdPage is how many keys are read or written at a time, and etcdPageBytes how
// many bytes are written: below etcd's limits for a request.
const (
	etcdPage      = 100
	etcdPageBytes = 512 << 10
)

// Snapshot implements Engine: all of one revision. Where etcd compacts that
// revision meanwhile, it ends with an error.
func (e *Etcd) Snapshot(ctx context.Context, visit func(Entry) error) error {
	resp, err := e.kv.Get(ctx, fenceetcd.FloorKey)
	if err != nil {
		return unavailable(err)
	}
	at := resp.Header.Revision
	var floor fence.Token
	for _, kv := range resp.Kvs { // one, or none
		m, err := fenceetcd.Decode(kv)
		if err != nil {
			return err
		}
		floor = m.Token
	}
	if err := visitFloor(floor, visit); err != nil {
		return err
	}
	for _, prefix := range []string{fenceetcd.Prefix, fenceetcd.SharedPrefix} {
		err := e.each(ctx, prefix, at, func(scope string, kv *mvccpb.KeyValue) error {
			m, err := fenceetcd.Decode(kv)
			if err != nil {
				return err
			}
			return visitMark(scope, m, floor, visit) // those below are about to be dropped
		})
		if err != nil {
			return err
		}
	}
	return e.each(ctx, etcdItems, at, func(key string, kv *mvccpb.KeyValue) error {
		item, err := decodeItem(key, kv.Value)
		if err != nil {
			return err
		}
		return visit(itemEntry(key, item))
	})
}

// each calls visit for every key below prefix as it was at a revision.
func (e *Etcd) each(ctx context.Context, prefix string, at int64, visit func(name string, kv *mvccpb.KeyValue) error) error {
	end := clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix))
	for next := prefix; ; {
		resp, err := e.kv.Get(ctx, next, end, clientv3.WithLimit(etcdPage), clientv3.WithRev(at))
		if err != nil {
			return unavailable(err)
		}
		for _, kv := range resp.Kvs {
			if err := visit(strings.TrimPrefix(string(kv.Key), prefix), kv); err != nil {
				return err
			}
			next = string(kv.Key) + "\x00"
		}
		if !resp.More {
			return nil
		}
	}
}

// ErrNotEmpty: a snapshot is restored to etcd only where nothing is, because it takes more than one Txn.
var ErrNotEmpty = errors.New("there are values or marks already")

// Restore implements Restorer, into an empty prefix, marks before values. Only an
// error of etcd can leave it half done.
func (e *Etcd) Restore(ctx context.Context, entries iter.Seq2[Entry, error]) error {
	n, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	floor, err := e.Floor(ctx)
	if err != nil {
		return err
	}
	if n.Keys+n.Marks > 0 || floor != 0 {
		return fmt.Errorf("%w: %d keys, %d marks, floor %d; restore to another prefix, or delete what is there first", ErrNotEmpty, n.Keys, n.Marks, floor)
	}
	var all []Entry // before the first is written: the last line tells whether they are whole
	for entry, err := range entries {
		if err != nil {
			return err
		}
		all = append(all, entry)
	}
	if err := e.restore(ctx, all); err != nil {
		return fmt.Errorf("restored in part; delete what is below the prefix, and try again: %w", err)
	}
	return nil
}

func (e *Etcd) restore(ctx context.Context, all []Entry) error {
	var puts []clientv3.Op
	size := 0
	flush := func() error {
		_, err := e.kv.Txn(ctx).Then(puts...).Commit()
		puts, size = nil, 0
		return err
	}
	for _, entry := range all {
		switch entry.Kind {
		case EntryFloor:
			if _, err := fenceetcd.Raise(ctx, e.kv, entry.Token); err != nil {
				return err
			}
		case EntryMark, EntryShared:
			c := fence.Claim{Scope: string(entry.Name), Token: entry.Token, Sequence: entry.Sequence}
			if entry.Kind == EntryShared {
				c.Mode = fence.Shared
			}
			// One below the floor says nothing.
			if _, err := fenceetcd.Do(ctx, e.kv, c); err != nil && !errors.Is(err, fence.ErrStale) {
				return err
			}
		case EntryItem:
			v := encodeItem(Item{Value: string(entry.Value), Token: entry.Token})
			if size += len(entry.Name) + len(v); len(puts) == etcdPage || size > etcdPageBytes && len(puts) > 0 {
				if err := flush(); err != nil {
					return err
				}
			}
			puts = append(puts, clientv3.OpPut(etcdItems+string(entry.Name), string(v)))
		}
	}
	if len(puts) == 0 {
		return nil
	}
	return flush()
}
