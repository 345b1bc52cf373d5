package etcdproc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// statusPeriod is how long a member is left alone between two questions.
const statusPeriod = 10 * time.Millisecond

// Leader asks the members until one answers that it leads and most of them, itself
// included, are in its term, and returns it. So it is never one that stands still,
// nor one that did and does not know yet that another was elected meanwhile: after
// a leader was paused, Leader is over when the next has been elected.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var askers sync.WaitGroup
	defer askers.Wait()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	// Each member is asked by itself: one that stands still holds up no other.
	answers := make(chan answer)
	for i, m := range c.Members {
		askers.Go(func() {
			for asking.Err() == nil {
				status, err := client.Status(asking, m.Endpoint())
				if err == nil {
					select {
					case answers <- answer{i, status}:
					case <-asking.Done():
					}
				}
				sleep.For(asking, statusPeriod)
			}
		})
	}
	latest := make([]*clientv3.StatusResponse, len(c.Members))
	for {
		select {
		case a := <-answers:
			latest[a.member] = a.status
			if i := elected(latest); i >= 0 {
				return c.Members[i], nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("no member of etcd leads: %w", context.Cause(ctx))
		}
	}
}

type answer struct {
	member int // its index
	status *clientv3.StatusResponse
}

// elected is the index of the member that says that it leads, in a term that most
// of the members say is theirs; -1 where there is none. Nil: no answer.
func elected(said []*clientv3.StatusResponse) int {
	for i, leader := range said {
		if leader == nil || leader.Leader != leader.Header.MemberId {
			continue
		}
		same := 0
		for _, s := range said {
			if s != nil && s.RaftTerm == leader.RaftTerm && s.Leader == leader.Leader {
				same++
			}
		}
		if same > len(said)/2 {
			return i
		}
	}
	return -1
}

// ByLeaseID returns the members in the order of the lease IDs that they grant, the one with the lowest
// first. The first two bytes of a lease ID are the last two of the ID of the member that was asked,
// without their top bit; see etcd's package pkg/idutil, and LeaseGrant in its server's v3_server.go.
// All members must serve. Members that by chance have these bytes in common, one in 11,000 clusters of
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
			return nil, fmt.Errorf("ask %s for its ID: %w", m.Name, err)
		}
		all = append(all, grantor{m, status.Header.MemberId})
	}
	return inOrder(all)
}

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
			return nil, fmt.Errorf("the lease IDs of %s and %s both begin with %04x, so they are in no order: start another cluster", all[i-1].Name, g.Name, g.first())
		}
		ordered = append(ordered, g.Member)
	}
	return ordered, nil
}
