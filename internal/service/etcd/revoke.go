package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// revoke ends a client's lease, as an operator could by etcdctl lease revoke.
var revoke = service.NewFault(scenario.Form{
	Usage: "revoke CLIENT [under NAME]", Dead: true,
	About: "Ends the client's lease, as an operator could.",
	Check: scenario.HasAsked,
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	tenure := story.Tenure(step)
	id, err := leaseOf(tenure)
	if err != nil || id == clientv3.NoLease {
		return fmt.Errorf("%s has no lease that could be revoked: its tenure is %q", step.Client, tenure)
	}
	story.Revoked(func(other string) bool {
		lease, err := leaseOf(other)
		return err == nil && lease == id
	})
	err = story.Meanwhile(ctx, "etcd to revoke the lease of "+step.Client, func(ctx context.Context) error {
		_, err := s.observer.client.Revoke(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	return story.AwaitEnd(ctx, step.Client, tenure)
})
