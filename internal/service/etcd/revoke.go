package etcd

import (
	"context"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// revoke ends a client's lease, as an operator could by etcdctl lease revoke.
var revoke = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "revoke CLIENT", Dead: true,
		About: "Ends the client's lease, as an operator could.",
		Check: scenario.HasAsked,
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		tenure := stage.Tenure(step.Client)
		id, err := leaseIn(tenure)
		if err != nil {
			return err
		}
		stage.Revoked(tenure)
		err = stage.Meanwhile(ctx, "etcd to revoke the lease of "+step.Client, func(ctx context.Context) error {
			_, err := of.(*servers).observer.client.Revoke(ctx, id)
			return err
		})
		if err != nil {
			return err
		}
		return stage.AwaitEnd(ctx, step.Client, tenure)
	},
}
