package etcdlock

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Oldest returns a token below which no tenure is live: the lowest create
// revision of all keys below prefixes, those of holders and of waiters, or one
// more than etcd's revision where there are none. It is what a store's floor may
// be raised to (see Raise of fence.Register), if prefixes cover every lock that
// the store knows as a scope. A lock named "/lock" has its keys below "/lock/".
//
// It reads all prefixes at one revision. A lock that is taken later has a higher
// token than any that is told here.
func Oldest(ctx context.Context, client clientv3.KV, prefixes ...string) (fence.Token, error) {
	if len(prefixes) == 0 {
		return 0, errors.New("etcdlock: no prefix of locks was given")
	}
	var first []clientv3.Op
	for _, p := range prefixes {
		first = append(first, clientv3.OpGet(p, append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...))
	}
	resp, err := client.Txn(ctx).Then(first...).Commit()
	if err != nil {
		return 0, fmt.Errorf("etcdlock: the oldest tenure below %q: %w", prefixes, err)
	}
	oldest := resp.Header.Revision + 1
	for _, r := range resp.Responses {
		for _, kv := range r.GetResponseRange().Kvs {
			oldest = min(oldest, kv.CreateRevision)
		}
	}
	return fence.Token(oldest), nil
}
