package main

import (
	"context"
	"sync"

	coordination "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// leases are a client of Leases that remembers the first answer which names its owner as the holder: an elector tells nobody
// with which resourceVersion it became the leader.
type leases struct {
	client.CoordinationV1Interface
	owner string

	mu      sync.Mutex
	granted *coordination.Lease
	unsure  error // why it is not known what became of the last change
}

func (l *leases) Leases(namespace string) client.LeaseInterface {
	return watched{l.CoordinationV1Interface.Leases(namespace), l}
}

// said is the Lease as it was when its owner became the holder, nil: it has not; or why that is not known.
func (l *leases) said() (granted *coordination.Lease, unsure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted, l.unsure
}

// take takes in an answer. An answer of the API server that is none is no refusal either.
func (l *leases) take(lease *coordination.Lease, err error, changes bool) (*coordination.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.unsure = nil
		if l.granted == nil && holderOf(lease) == l.owner {
			l.granted = lease.DeepCopy()
		}
	case changes && !errors.IsConflict(err) && !errors.IsAlreadyExists(err):
		l.unsure = err
	}
	return lease, err
}

type watched struct {
	client.LeaseInterface
	by *leases
}

func (w watched) Get(ctx context.Context, name string, o meta.GetOptions) (*coordination.Lease, error) {
	lease, err := w.LeaseInterface.Get(ctx, name, o)
	return w.by.take(lease, err, false)
}

func (w watched) Create(ctx context.Context, lease *coordination.Lease, o meta.CreateOptions) (*coordination.Lease, error) {
	lease, err := w.LeaseInterface.Create(ctx, lease, o)
	return w.by.take(lease, err, true)
}

func (w watched) Update(ctx context.Context, lease *coordination.Lease, o meta.UpdateOptions) (*coordination.Lease, error) {
	lease, err := w.LeaseInterface.Update(ctx, lease, o)
	return w.by.take(lease, err, true)
}
