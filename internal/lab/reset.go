package lab

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

var resetFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "reset CLIENT",
		About: "The connections by which it sends to the storage break, and answers under way are lost. New ones work."},
	do: func(r *run, ctx context.Context, s scenario.Step) error { return r.reset(ctx, s.Client) },
}

// reset breaks the connections by which a client sends to the storage. What is
// under way on them is lost, answers too; new ones work. It awaits that the
// client has noticed.
func (r *run) reset(ctx context.Context, client string) error {
	n, c := r.world.links[client], r.state.client(client)
	r.network(client, history.CauseReset, "the connections of "+client+" to the storage break")
	n.storage.Cut()
	n.storage.Tx.Open()
	n.storage.Rx.Open()
	for _, q := range r.state.underWay(client) {
		q.Lost = c.held
	}
	c.held, c.deaf = false, false // the new ones are as good as any
	return r.await(ctx, client+" to notice that its connection broke", r.within(client), func() (bool, error) {
		return c.Paused() || r.state.answered(client), nil
	})
}
