package clientcmd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// locker takes locks in etcd. With tokenLease its grants carry the lease ID as
// their token and so break the law that tokens grow: to show what comes of it.
type locker struct {
	*etcdlock.Backend
	token tokenKind
}

var _ lock.Backend = (*locker)(nil)

func newLocker(client *clientv3.Client, ttl time.Duration, token tokenKind) (*locker, error) {
	b, err := etcdlock.New(client, ttl)
	return &locker{b, token}, err
}

// tenure is one of etcdlock, but for its token.
type tenure struct {
	*etcdlock.Tenure
	token fence.Token
}

func (t *tenure) Grant() lock.Grant {
	g := t.Tenure.Grant()
	g.Token = t.token
	return g
}

func (l *locker) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return l.take(l.Backend.Lock(ctx, scope))
}

func (l *locker) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return l.take(l.Backend.TryLock(ctx, scope))
}

func (l *locker) take(granted lock.Tenure, err error) (lock.Tenure, error) {
	if err != nil {
		return nil, err
	}
	t := &tenure{Tenure: granted.(*etcdlock.Tenure)}
	t.token = t.Tenure.Grant().Token
	if l.token == tokenLease {
		t.token = fence.Token(t.UnorderedLeaseID())
	}
	return t, nil
}

// leaseOf is the ID of the lease that a tenure of a locker stands on.
func leaseOf(t lock.Tenure) clientv3.LeaseID { return clientv3.LeaseID(t.(*tenure).UnorderedLeaseID()) }
