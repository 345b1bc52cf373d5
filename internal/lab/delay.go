package lab

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
)

// delay has what a client sends to the storage wait in the network.
func (r *run) delay(client string) error {
	n := r.world.links[client]
	n.held = true
	n.storage.PauseTx()
	r.network(client, history.CauseDelay, "what "+client+" sends to the storage from now on waits in the network")
	return nil
}

// deliver lets it go on, and awaits that the storage has done or refused it.
func (r *run) deliver(ctx context.Context, client string) error {
	n := r.world.links[client]
	n.held = false
	r.network(client, history.CauseDeliver, "what "+client+" sent goes on to the storage")
	n.storage.UnpauseTx()
	return r.await(ctx, "what "+client+" sent to arrive", r.within(client), func() (bool, error) { return r.state.arrived(client), nil })
}
