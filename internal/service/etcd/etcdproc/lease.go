package etcdproc

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// ByLeaseID returns the members in the order of the lease IDs that they grant, the
// one with the lowest first. The first two bytes of a lease ID are the last two of
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
	var all []grantor
	for _, m := range c.Members {
		status, err := client.Status(ctx, m.Endpoint())
		if err != nil {
			return nil, fmt.Errorf("ask %s for its ID: %w", m.Name(), err)
		}
		all = append(all, grantor{m, status.Header.MemberId})
	}
	return inOrder(all)
}

// grantor is a member and its ID.
type grantor struct {
	*Member
	id uint64
}

// first are the first two bytes of the lease IDs that it grants.
func (g grantor) first() uint64 { return g.id & 0x7fff }

func inOrder(all []grantor) (ordered []*Member, err error) {
	slices.SortFunc(all, func(a, b grantor) int { return cmp.Compare(a.first(), b.first()) })
	for i, g := range all {
		if i > 0 && all[i-1].first() == g.first() {
			return nil, fmt.Errorf("the lease IDs of %s and %s both begin with %04x, so they are in no order: start another cluster", all[i-1].Name(), g.Name(), g.first())
		}
		ordered = append(ordered, g.Member)
	}
	return ordered, nil
}
