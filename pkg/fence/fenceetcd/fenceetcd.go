// Package fenceetcd keeps fencing marks in etcd, beside the data that they
// protect: the check, the mark and the data are one Txn, and whoever runs it has
// no state of its own.
//
//	_, err := fenceetcd.Do(ctx, client, claim, clientv3.OpPut("orders/7", order))
//
// The marks are the keys below "fence.marks/" and "fence.shared/", and
// "fence.floor" is a key as well. Leave them to this package; who may use it by
// etcd's roles has to be able to read and write them all. Where several
// applications share a cluster, each wraps its client with
// go.etcd.io/etcd/client/v3/namespace, and so has marks and a floor of its own.
//
// A version of this package that knew no shared claims does not look at
// "fence.shared/". Let no program with such a version write any more before the
// first shared claim is made.
package fenceetcd

import (
	"context"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// ExtraOps is how many operations Do adds to those of its caller, by etcd's count
// for --max-txn-ops. It counts a Txn inside another as the sum of the longest
// lists on the way down; source: etcd, api/v3rpc/key.go, checkTxnRequest.
const ExtraOps = 9

// Do runs ops if c is admitted by the mark of its scope and by the floor, and
// raises the mark, all in one Txn and one round trip. The response has the header
// of that Txn, with its revision, and one entry for each of ops. Without ops, Do
// raises the mark alone.
//
// With a refusal, as Mark.Admit of package fence has them, or with
// fence.ErrDuplicate, neither data nor mark has changed. A claim that is bad
// whatever the mark is, also by an empty scope, is refused without a request.
// Other errors wrap those of etcd; Definite says which of them leave no doubt.
//
// ops are as in any Txn: they may be reads and nested Txns, no key may be put
// twice, and what is put must not be in a range that is deleted. For n of them
// start etcd with --max-txn-ops of n+ExtraOps at least; its default of 128 is
// enough for 119. Where one is a nested Txn, its own operations come on top.
// --max-request-bytes, 1.5 MiB by default, bounds them too.
//
// Do knows no bound of the tokens; Store does.
//
// Give ctx a deadline: without one Do waits for as long as etcd has no leader.
// etcd's client does not send a Txn with writes again once a member may have it
// (retry.go, isSafeRetryMutableRPC), with one exception: where a member itself
// gave up waiting, as for a leader, it asks the next (retry_interceptor.go). Were
// both carried out, the second would be checked as the first was; with a sequence
// number Do then returns fence.ErrDuplicate, which is the truth.
func Do(ctx context.Context, kv clientv3.KV, c fence.Claim, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	// etcd compares values as bytes, so that an encoded mark is above another one
	// exactly where the mark is. A compare of a key that is not there is false:
	// hence the question is always whether a mark is above, and what is not there
	// never is. A Txn has no "or", so each question after the first is a Txn inside
	// the one before.
	marks := refusing(c)
	then := append([]clientv3.Op{raise(c)}, ops...)
	for _, mark := range slices.Backward(marks[1:]) {
		then = []clientv3.Op{clientv3.OpTxn([]clientv3.Cmp{mark}, get(c.Scope), then)}
	}
	resp, err := kv.Txn(ctx).If(marks[0]).Then(get(c.Scope)...).Else(then...).Commit()
	if err != nil {
		return nil, failed(fmt.Sprintf("scope %q, token %d", c.Scope, c.Token), err)
	}
	refused, found := resp.Succeeded, resp.Responses
	for range marks[1:] {
		if refused {
			break
		}
		inner := found[0].GetResponseTxn()
		refused, found = inner.Succeeded, inner.Responses
	}
	if refused {
		return nil, refusal(c, found)
	}
	return &clientv3.TxnResponse{Header: resp.Header, Succeeded: true, Responses: found[1:]}, nil
}

// refusing asks of each mark that can refuse c whether it does.
func refusing(c fence.Claim) []clientv3.Cmp {
	if c.Mode == fence.Shared {
		return []clientv3.Cmp{above(key(c.Scope), last(c.Token)), above(FloorKey, last(c.Token))}
	}
	ceiling := fence.Mark{Token: c.Token, Sequence: c.Sequence - 1}
	if c.Sequence == 0 {
		ceiling = last(c.Token)
	}
	return []clientv3.Cmp{above(key(c.Scope), ceiling), above(FloorKey, ceiling), above(sharedKey(c.Scope), last(c.Token))}
}

// check refuses what is refused whatever the mark is.
func check(c fence.Claim) error {
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	_, err := fence.Mark{}.Admit(c)
	return err
}

func checkScope(scope string) error {
	if scope == "" {
		return fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)
	}
	return nil
}

// raise puts c's mark, where c is admitted. A sequence number that is admitted is
// always higher than the mark's; without one the mark of a tenure that is known
// must stay as it is. So must a shared mark that is higher than c's; one that an
// exclusive claim has come up to says nothing more.
func raise(c fence.Claim) clientv3.Op {
	mark := encode(fence.Mark{Token: c.Token, Sequence: c.Sequence})
	if c.Mode == fence.Shared {
		return clientv3.OpTxn(known(sharedKey(c.Scope), c.Token), nil, []clientv3.Op{clientv3.OpPut(sharedKey(c.Scope), mark)})
	}
	puts := []clientv3.Op{clientv3.OpPut(key(c.Scope), mark), clientv3.OpDelete(sharedKey(c.Scope))}
	if c.Sequence > 0 {
		return clientv3.OpTxn(nil, puts, nil)
	}
	return clientv3.OpTxn(known(key(c.Scope), c.Token), nil, puts)
}

// known asks whether the mark at key is of the tenure t, or of a later one.
func known(key string, t fence.Token) []clientv3.Cmp { return []clientv3.Cmp{above(key, last(t-1))} }

// refusal is why etcd did not admit c, by the rule and what get found.
func refusal(c fence.Claim, found []*pb.ResponseOp) error {
	m, err := effective(c.Scope, found)
	if err != nil {
		return err
	}
	if _, err = m.Admit(c); err == nil {
		return fmt.Errorf("fenceetcd: scope %q: %+v was not admitted, though the mark %+v admits it: nothing was done, and this is no KV of etcd", c.Scope, c, m)
	}
	return err
}

// Mark returns the mark of a scope: the highest that was admitted in each mode, or
// the floor where that is higher. It is zero where there is none of them.
func Mark(ctx context.Context, kv clientv3.KV, scope string) (fence.Mark, error) {
	if err := checkScope(scope); err != nil {
		return fence.Mark{}, err
	}
	resp, err := kv.Txn(ctx).Then(get(scope)...).Commit()
	if err != nil {
		return fence.Mark{}, fmt.Errorf("fenceetcd: mark of %q: %w", scope, err)
	}
	return effective(scope, resp.Responses)
}
