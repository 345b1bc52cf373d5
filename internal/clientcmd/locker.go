package clientcmd

import (
	"context"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// What is shown to the storage as the token.
const (
	tokenRevision = "revision" // the create revision of the lock's key
	tokenHeader   = "header"   // the revision at which etcd answered that the lock is granted
	tokenLease    = "lease"    // the lease's ID
	tokenMax      = "max"
)

const maxToken fence.Token = math.MaxInt64

// position is a tenure, or a place in the queue that will be one, with all the
// numbers that pass for tokens.
type position interface {
	lock.Tenure
	HeaderRevision() int64
	UnorderedLeaseID() int64
}

// tokenOf is the number of t that kind names.
func tokenOf(kind string, t position) fence.Token {
	switch kind {
	case tokenHeader:
		return fence.Token(t.HeaderRevision())
	case tokenLease:
		return fence.Token(t.UnorderedLeaseID())
	case tokenMax:
		return maxToken
	}
	return t.Grant().Token
}

// locker takes locks in etcd. Its grants carry what token names, and so may
// break the law that tokens grow: to show what comes of it.
type locker struct {
	*etcdlock.Backend
	token string
}

var _ lock.Backend = (*locker)(nil)

func newLocker(client *clientv3.Client, ttl time.Duration, token string) (*locker, error) {
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
	t := granted.(*etcdlock.Tenure)
	return &tenure{t, tokenOf(l.token, t)}, nil
}

// leaseOf is the ID of the lease that a tenure of a locker stands on.
func leaseOf(t lock.Tenure) clientv3.LeaseID { return clientv3.LeaseID(t.(*tenure).UnorderedLeaseID()) }
