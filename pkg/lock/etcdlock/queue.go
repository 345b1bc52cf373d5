package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// take puts the tenure's key into the queue of scope, and fills in the grant when
// it is the first. Without wait it returns lock.ErrLocked where it is not. The
// answer that shows the key as the first is the proof that the lease is not dead
// already (etcd issue 9921).
func (t *Tenure) take(scope string, wait bool) error {
	// The session's context, so that the wait ends with the session.
	ctx := t.session.Ctx()
	err := t.stand(ctx, scope, wait)
	if err != nil && ctx.Err() != nil {
		return concurrency.ErrSessionExpired
	}
	return err
}

func (t *Tenure) stand(ctx context.Context, scope string, wait bool) error {
	prefix := Prefix(scope)
	key := fmt.Sprintf("%s%x", prefix, t.session.Lease())
	look := clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	ops := []clientv3.Op{clientv3.OpPut(key, "", clientv3.WithLease(t.session.Lease())), look}
	for {
		resp, err := t.client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return err
		}
		queue := ofScope(prefix, resp.Responses[len(ops)-1].GetResponseRange().GetKvs())
		place := slices.IndexFunc(queue, func(kv *mvccpb.KeyValue) bool { return string(kv.Key) == key })
		switch {
		case place < 0:
			return concurrency.ErrSessionExpired
		case place == 0:
			t.header = resp.Header.Revision
			t.grant = lock.Grant{Scope: scope, Owner: key, Token: fence.Token(queue[0].CreateRevision)}
			return nil
		case !wait:
			return lock.ErrLocked
		}
		if err := t.awaitDelete(ctx, string(queue[place-1].Key), resp.Header.Revision); err != nil {
			return err
		}
		ops = []clientv3.Op{look}
	}
}

// ofScope leaves out keys of other scopes: below "/a/", "/a/b/1f" is one of "/a/b".
func ofScope(prefix string, kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue {
	return slices.DeleteFunc(kvs, func(kv *mvccpb.KeyValue) bool {
		return strings.Contains(string(kv.Key[len(prefix):]), "/")
	})
}

// awaitDelete returns nil when key, which was there at a revision, may be gone.
func (t *Tenure) awaitDelete(ctx context.Context, key string, revision int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for news := range t.client.Watch(ctx, key, clientv3.WithRev(revision+1), clientv3.WithFilterPut()) {
		if len(news.Events) > 0 || news.CompactRevision > 0 {
			return nil
		}
		if err := news.Err(); err != nil {
			return err
		}
	}
	return errors.New("the watch of the holder's key ended")
}
