package etcdproc

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// ByLeaseID returns the members in the order of the lease IDs that they grant, the
// one with the lowest first. The higher two bytes of a lease ID are the lower two of
// the ID of the member that was asked, without their top bit; see etcd's package
// pkg/idutil, and LeaseGrant in its server's v3_server.go. All members must serve.
// Members that by chance have these bytes in common, one in 11,000 clusters of
// three, are an error: such a cluster has no order.
func (c *Cluster) ByLeaseID(ctx context.Context) ([]*Member, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	of := make(map[uint64]*Member)
	for _, m := range c.Members {
		status, err := client.Status(ctx, m.Endpoint())
		if err != nil {
			return nil, fmt.Errorf("ask %s for its ID: %w", m.Name(), err)
		}
		first := leaseBytes(status.Header.MemberId)
		if other := of[first]; other != nil {
			return nil, fmt.Errorf("the lease IDs of %s and %s both begin with %04x, so they are in no order: start another cluster", other.Name(), m.Name(), first)
		}
		of[first] = m
	}
	var all []*Member
	for _, first := range slices.Sorted(maps.Keys(of)) {
		all = append(all, of[first])
	}
	return all, nil
}

// leaseBytes are the first two bytes of the lease IDs that a member grants.
func leaseBytes(memberID uint64) uint64 { return memberID & 0x7fff }
