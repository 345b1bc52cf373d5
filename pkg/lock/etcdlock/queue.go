package etcdlock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc/codes"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// errLeaseOver: the lease was over before the attempt began, and nobody knew.
var errLeaseOver = errors.New("the lease is over")

// take puts the tenure's key into the queue of its scope, and fills in the grant when
// it is its turn. Without wait it returns lock.ErrLocked where it is not. All ends
// with the lease, and with ctx; but the put has until late to be answered, so that
// it is known what is in etcd.
func (t *Tenure) take(ctx, late context.Context, wait bool) error {
	putting, stop := t.whileLeased(late)
	defer stop()
	waiting, stop := t.whileLeased(ctx)
	defer stop()
	err := t.stand(putting, waiting, wait)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		t.lease.end(lock.ErrLost) // for all who stand on it
		if !t.stands {
			return errLeaseOver
		}
		return concurrency.ErrSessionExpired
	case ctx.Err() != nil:
		return ctx.Err()
	case t.life.Over():
		return concurrency.ErrSessionExpired
	}
	return err
}

// whileLeased returns a context that ends with ctx and with the lease.
func (t *Tenure) whileLeased(ctx context.Context) (_ context.Context, stop func()) {
	ctx, end := context.WithCancel(ctx)
	forget := context.AfterFunc(t.life.Context(), end)
	return ctx, func() { forget(); end() }
}

// refused reports whether err is etcd's word that it did not do what it was asked.
func refused(err error) bool {
	var said rpctypes.EtcdError
	return errors.As(err, &said) && slices.Contains([]codes.Code{
		codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated, codes.ResourceExhausted,
	}, said.Code())
}

// stand stands in the queue until it is its turn. The answer that shows the key with
// nobody before it to wait for is the proof that the lease is not dead already (etcd
// issue 9921).
func (t *Tenure) stand(putting, waiting context.Context, wait bool) error {
	prefix := Prefix(t.grant.Scope)
	look := look(t.grant.Scope)
	ops := []clientv3.Op{clientv3.OpPut(t.grant.Owner, lock.Words(waiting), clientv3.WithLease(t.lease.id)), look}
	for ctx := putting; ; ctx = waiting {
		resp, err := t.commit(ctx, waiting, wait, ops)
		if err != nil {
			return err
		}
		t.stands = true
		queue := ofScope(prefix, resp.Responses[len(ops)-1].GetResponseRange().GetKvs())
		place := slices.IndexFunc(queue, func(kv *mvccpb.KeyValue) bool { return string(kv.Key) == t.grant.Owner })
		if place < 0 {
			return concurrency.ErrSessionExpired
		}
		t.missing = t.puts - queue[place].Version
		before := lastExcluding(queue[:place], t.grant.Mode)
		if before != nil && !wait {
			return lock.ErrLocked
		}
		if err := t.freshen(waiting, wait); err != nil {
			return err
		}
		if before == nil {
			t.header = resp.Header.Revision
			t.grant.Token = fence.Token(queue[place].CreateRevision)
			return nil
		}
		if err := t.awaitDelete(waiting, string(before.Key), resp.Header.Revision); err != nil {
			return err
		}
		ops = []clientv3.Op{look}
	}
}

// commit makes a transaction. Who waits asks again where a member of etcd says that it could not
// do it, such as a leader that is cut off from the others: the client then asks another member.
// If the key is put twice, it keeps its place.
func (t *Tenure) commit(ctx, waiting context.Context, wait bool, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	for {
		if !t.stands {
			t.puts++
		}
		resp, err := t.lease.client.Txn(ctx).Then(ops...).Commit()
		if err == nil || !wait || !unavailable(err) || rest(waiting) != nil {
			return resp, err
		}
	}
}

// freshen renews the lease at need. Who waits asks again, as long as the lease lasts.
func (t *Tenure) freshen(ctx context.Context, wait bool) error {
	for {
		err := t.lease.freshen(ctx)
		if err == nil || !wait || refused(err) || rest(ctx) != nil {
			return err
		}
	}
}

// unavailable reports whether err is the word of a member of etcd that it could not do what it
// was asked, which another one may do.
func unavailable(err error) bool {
	var said rpctypes.EtcdError
	return errors.As(err, &said) && said.Code() == codes.Unavailable
}

// rest is the time between two requests. It returns an error when ctx is done.
func rest(ctx context.Context) error { return attempt.Sleep(ctx, 100*time.Millisecond) }

// look gets all that is in the queue of a scope, in order. It gets the values, which are short:
// etcd 3.7 tells no lease of a key alone.
func look(scope string) clientv3.Op {
	return clientv3.OpGet(Prefix(scope), clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
}

// lastExcluding is the last of the keys before that of a tenure in mode which it has to
// wait for; nil: there is none. A reader waits for writers only.
func lastExcluding(before []*mvccpb.KeyValue, mode fence.Mode) *mvccpb.KeyValue {
	for _, kv := range slices.Backward(before) {
		if mode == fence.Exclusive || ModeOf(string(kv.Key)) == fence.Exclusive {
			return kv
		}
	}
	return nil
}

// ofScope leaves out keys of other scopes: below "/a/", "/a/b/1f" is one of "/a/b". It leaves
// out what is no place in a queue, too, such as "/a/7" where an application keeps something.
func ofScope(prefix string, kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue {
	return slices.DeleteFunc(kvs, func(kv *mvccpb.KeyValue) bool {
		lease, _, _ := strings.Cut(string(kv.Key[len(prefix):]), "-")
		return kv.Lease == 0 || lease != strconv.FormatInt(kv.Lease, 16)
	})
}

// awaitDelete returns nil when key, which was there at a revision, may be gone. A member that
// has lost its leader says so.
func (t *Tenure) awaitDelete(ctx context.Context, key string, revision int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for news := range t.lease.client.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithRev(revision+1), clientv3.WithFilterPut()) {
		if len(news.Events) > 0 || news.CompactRevision > 0 {
			return nil
		}
		if err := news.Err(); unavailable(err) {
			return rest(ctx)
		} else if err != nil {
			return err
		}
	}
	return errors.New("the watch of the key before ended")
}
