package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// shares reports whether the client takes its locks together with others.
func (c *client) shares() bool { return c.settings.Text(setting.Mode) == setting.ModeShared }

// reader is a place in the queue of one who shares the lock, by etcdlock, and then its tenure.
type reader struct {
	service.Later
	locks  lock.Backend
	placed chan struct{} // closed when it stands in the queue, and the grant is known that it will have
}

var _ queuing = (*reader)(nil)

func (r *reader) stands() <-chan struct{} { return r.placed }

func (r *reader) take(ctx context.Context, _ string) error {
	t, err := r.locks.Lock(context.WithValue(ctx, placedKey{}, r.place), r.Place.Scope)
	if err == nil {
		r.Begin(t)
	}
	return err
}

func (r *reader) place(key string, revision int64) {
	r.Place.Owner, r.Place.Token = key, fence.Token(revision)
	close(r.placed)
}

func (r *reader) HeaderRevision() int64 {
	if t, held := r.Held().(*etcdlock.Tenure); held {
		return t.HeaderRevision()
	}
	return 0
}

func (r *reader) UnorderedLeaseID() int64 {
	id, _ := leaseOf(r.Grant().Owner) // etcdlock has it in each key
	return int64(id)
}

// queueKV is what etcdlock reads and writes by. The answer to its put tells the place in
// the queue, which nothing else does before the grant: queueKV calls the function that
// the context has for placedKey.
type queueKV struct{ clientv3.KV }

type placedKey struct{}

func (k queueKV) Txn(ctx context.Context) clientv3.Txn {
	txn := k.KV.Txn(ctx)
	if placed, ok := ctx.Value(placedKey{}).(func(key string, revision int64)); ok {
		return &queueTxn{Txn: txn, placed: placed}
	}
	return txn
}

type queueTxn struct {
	clientv3.Txn
	placed func(key string, revision int64)
	key    string // that it puts
}

func (t *queueTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	if ops[0].IsPut() {
		t.key = string(ops[0].KeyBytes())
	}
	t.Txn.Then(ops...)
	return t
}

func (t *queueTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil && t.key != "" {
		t.placed(t.key, resp.Header.Revision)
	}
	return resp, err
}
