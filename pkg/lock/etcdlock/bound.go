package etcdlock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Bound returns a function for the Bound of fence.Register and of the stores, such as
// fencesql.Store: the highest token that etcd can have given out is its current
// revision. Etcd is asked only about a token that is above every revision it has
// told before, and may take timeout to answer; where it does not, the claim is
// refused with an error that is none of package fence's, and may be made again.
//
// It bounds create revisions. Lease IDs are far above any revision.
func Bound(client *clientv3.Client, timeout time.Duration) func(fence.Claim) (fence.Token, error) {
	var known atomic.Int64
	return func(c fence.Claim) (fence.Token, error) {
		if at := known.Load(); int64(c.Token) <= at {
			return fence.Token(at), nil
		}
		ctx, cancel := context.WithTimeout(client.Ctx(), timeout)
		defer cancel()
		// A linearizable read: its answer is no older than the question.
		resp, err := client.Get(ctx, "\x00", clientv3.WithKeysOnly())
		if err != nil {
			return 0, fmt.Errorf("etcdlock: whether token %d was issued cannot be found out: %w", c.Token, err)
		}
		for at := known.Load(); at < resp.Header.Revision && !known.CompareAndSwap(at, resp.Header.Revision); {
			at = known.Load()
		}
		return fence.Token(resp.Header.Revision), nil
	}
}
