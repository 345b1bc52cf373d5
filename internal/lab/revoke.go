package lab

import (
	"context"
	"fmt"
	"path"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// leaseOf is the hexadecimal ID of the lease that a tenure stands on: package
// concurrency ends the keys of its locks with it.
func leaseOf(tenure string) string { return path.Base(keyOf(tenure)) }

// revoke ends a client's lease, as an operator could by etcdctl lease revoke.
func (r *run) revoke(ctx context.Context, client string) error {
	tenure := r.state.client(client).latest()
	id, err := strconv.ParseInt(leaseOf(tenure), 16, 64)
	if err != nil {
		return fmt.Errorf("%s has no lease that could be revoked: its tenure is %q", client, tenure)
	}
	o := r.state.owner(tenure)
	o.revoked = true
	err = r.meanwhile(ctx, "etcd to revoke the lease of "+client, func(ctx context.Context) error {
		_, err := r.world.observer.client.Revoke(ctx, clientv3.LeaseID(id))
		return err
	})
	if err != nil {
		return err
	}
	return r.await(ctx, "the end of "+client+"'s tenure", r.patience, func() (bool, error) { return o.ended, nil })
}
