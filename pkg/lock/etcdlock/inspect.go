package etcdlock

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Inspect is as lock.Inspector says. It tells of mutexes of package concurrency, too. How
// long a lease lasts, which is in whole seconds, costs a request for each lease of a holder.
func (b *Backend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	state, err := b.inspect(ctx, scope)
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("etcdlock: inspect %q: %w", scope, err))
	}
	return state, nil
}

func (b *Backend) inspect(ctx context.Context, scope string) (lock.State, error) {
	if b.client == nil {
		return lock.State{}, errZero
	}
	if scope == "" {
		return lock.State{}, errEmpty
	}
	resp, err := b.client.Do(ctx, look(scope))
	if err != nil {
		return lock.State{}, err
	}
	state := lock.State{Queue: true}
	left := make(map[int64]time.Duration) // of leases that were asked for
	queue := ofScope(Prefix(scope), resp.Get().Kvs)
	for place, kv := range queue {
		party := partyOf(scope, kv)
		if lastExcluding(queue[:place], party.Mode) != nil {
			state.Waiters = append(state.Waiters, party)
			continue
		}
		if _, asked := left[kv.Lease]; !asked {
			lease, err := b.client.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
			if err != nil {
				return lock.State{}, err
			}
			left[kv.Lease] = time.Duration(max(lease.TTL, 0)) * time.Second // -1: it has just ended
		}
		party.Left = left[kv.Lease]
		state.Holders = append(state.Holders, party)
	}
	return state, nil
}

// partyOf is whose key it is. The words are the key's value.
func partyOf(scope string, kv *mvccpb.KeyValue) lock.Party {
	return lock.Party{
		Grant: lock.Grant{
			Scope: scope, Owner: string(kv.Key), Token: fence.Token(kv.CreateRevision), Mode: ModeOf(string(kv.Key)),
		},
		Words: string(kv.Value),
	}
}
