package lab

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// reset breaks the connections by which a client sends to the storage. What is
// under way on them is lost, answers too; new ones work. It awaits that the
// client has noticed.
func (r *run) reset(ctx context.Context, client string) error {
	l := r.world.links[client].storage
	r.network(client, history.CauseReset, "the connections of "+client+" to the storage break")
	l.cut()
	if err := r.meanwhile(ctx, "the network to work again", l.reopen); err != nil {
		return err
	}
	return r.await(ctx, client+" to notice that its connection broke", r.within(client), func() (bool, error) {
		return !slices.ContainsFunc(r.state.sentBy(client), func(q *request) bool { return !q.answered }), nil
	})
}
