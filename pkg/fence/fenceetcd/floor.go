package fenceetcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// page is how many marks Raise drops at a time. Each is a Txn inside another one,
// which must not be more than etcd's default of 128 operations allows.
const page = 100

// Raise sets the floor, the token below which nothing is admitted in any scope,
// and drops the marks below it, which it makes superfluous. It returns how many
// it dropped; the marks of both modes of a scope are two. A floor that is higher already stays; the marks below the given one
// are dropped all the same.
//
// A floor is right only where the tokens of all scopes come from one issuer, and
// no live tenure has a lower one. With locks in etcd, read the keys of all holders
// and waiters at once: the floor is the lowest of their create revisions, or the
// revision of that read where there are none. Too low a floor costs space; too
// high a one locks holders out, and cannot be taken back.
//
// After an error the floor may be raised and some of the marks dropped, which is
// safe at any point. Call Raise again to go on.
func Raise(ctx context.Context, kv clientv3.KV, floor fence.Token) (dropped int, err error) {
	if !floor.Valid() {
		return 0, fmt.Errorf("%w: a floor of %d, want 1 or more", fence.ErrInvalidToken, floor)
	}
	// The floor first: from here on no mark below it is needed, nor can one come.
	_, err = kv.Txn(ctx).
		If(known(FloorKey, floor)...).
		Else(clientv3.OpPut(FloorKey, encode(fence.Mark{Token: floor}))).
		Commit()
	if err != nil {
		return 0, fmt.Errorf("fenceetcd: raise the floor to %d: %w", floor, err)
	}
	for _, prefix := range []string{Prefix, SharedPrefix} {
		n, err := dropBelow(ctx, kv, prefix, floor)
		dropped += n
		if err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// dropBelow drops the marks below a prefix whose tokens are below floor.
func dropBelow(ctx context.Context, kv clientv3.KV, prefix string, floor fence.Token) (dropped int, err error) {
	lowest := encode(fence.Mark{Token: floor})
	end := clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix))
	for next := prefix; ; {
		found, err := kv.Get(ctx, next, end, clientv3.WithLimit(page))
		if err != nil {
			return dropped, fmt.Errorf("fenceetcd: list the marks from %q: %w", next, err)
		}
		var drop []clientv3.Op
		for _, mark := range found.Kvs {
			m, err := Decode(mark)
			if err != nil {
				return dropped, err
			}
			if m.Highest() < floor {
				// Asked again, because it may have been raised since.
				drop = append(drop, clientv3.OpTxn(
					[]clientv3.Cmp{clientv3.Compare(clientv3.Value(string(mark.Key)), "<", lowest)},
					[]clientv3.Op{clientv3.OpDelete(string(mark.Key))}, nil))
			}
			next = string(mark.Key) + "\x00"
		}
		if len(drop) > 0 {
			done, err := kv.Txn(ctx).Then(drop...).Commit()
			if err != nil {
				return dropped, fmt.Errorf("fenceetcd: drop marks below %d: %w", floor, err)
			}
			for _, one := range done.Responses {
				if one.GetResponseTxn().GetSucceeded() {
					dropped++
				}
			}
		}
		if !found.More {
			return dropped, nil
		}
	}
}

// Floor returns the token below which nothing is admitted in any scope; 0 where
// none was set.
func Floor(ctx context.Context, kv clientv3.KV) (fence.Token, error) {
	found, err := kv.Get(ctx, FloorKey)
	if err != nil {
		return 0, fmt.Errorf("fenceetcd: read the floor: %w", err)
	}
	if len(found.Kvs) == 0 {
		return 0, nil
	}
	m, err := Decode(found.Kvs[0])
	return m.Token, err
}
