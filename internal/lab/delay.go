package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

var delayFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "delay CLIENT to storage", Other: scenario.TargetStorage,
		About: "What the client sends by \"send …\" waits in the network.",
		Check: func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if c.Delayed {
				return step.Client + " is delayed already"
			}
			c.Delayed = true
			return ""
		}},
	do: func(r *run, _ context.Context, s scenario.Step) error {
		r.state.client(s.Client).held = true
		if link := r.world.links[s.Client].storage; link != nil { // else nothing is sent in the whole story
			link.Tx.Shut()
		}
		return r.network(s.Client, history.CauseDelay, "what "+s.Client+" sends to the storage from now on waits in the network")
	},
}

var deliverFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "deliver CLIENT", Dead: true,
		About: "What waited goes on, in the order in which it was sent; over when the storage has done or refused it.",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			switch {
			case s.StorageDead:
				return "the storage is dead, and what waits would come to nobody: it needs a step \"gcsim: restart storage\" before"
			case !c.Delayed:
				return fmt.Sprintf("%s is not delayed here: it needs a step \"gcsim: delay %[1]s to storage\" before", step.Client)
			case !c.Sent:
				return fmt.Sprintf("nothing of %s waits in the network: it needs a step \"%[1]s: send …\" before", step.Client)
			}
			c.Delayed, c.Sent = false, false
			return ""
		}},
	do: (*run).deliver,
}

// deliver lets go on what waits: one request after the other, as they were sent, each when the storage has told
// of the one before. It awaits that the client knows what came of them.
func (r *run) deliver(ctx context.Context, s scenario.Step) error {
	client := s.Client
	link, c := r.world.links[client].storage, r.state.client(client)
	_ = r.network(client, history.CauseDeliver, "what "+client+" sent goes on to the storage")
	for _, q := range r.state.underWay(client) {
		link.Pass()
		err := r.await(ctx, "what "+client+" sent to arrive", r.within(client), func() (bool, error) { return q.Done(), nil })
		if err != nil {
			return err
		}
	}
	c.held = false
	link.Tx.Open()
	return r.await(ctx, client+" to be answered", r.within(client), func() (bool, error) {
		return c.unreachable() || r.state.arrived(client) && r.state.answered(client), nil
	})
}

// resetFault breaks a client's connections to the storage. What is under way is lost, answers too; new ones
// work. It awaits that the client has noticed.
var resetFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "reset CLIENT",
		About: "The connections by which it sends to the storage break, and answers under way are lost. New ones work."},
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		n, c := r.world.links[s.Client], r.state.client(s.Client)
		_ = r.network(s.Client, history.CauseReset, "the connections of "+s.Client+" to the storage break")
		if n.storage != nil {
			n.storage.Cut()
			n.storage.Tx.Open()
			n.storage.Rx.Open()
		}
		for _, q := range r.state.underWay(s.Client) {
			q.Lost = c.held
		}
		c.held, c.deaf = false, false // the new ones are as good as any
		return r.await(ctx, s.Client+" to notice that its connection broke", r.within(s.Client), func() (bool, error) {
			return c.Paused() || r.state.answered(s.Client), nil
		})
	},
}

// waiting reports whether all that a client sent has come to the place in the network where it waits.
func (r *run) waiting(client string) bool {
	return r.state.client(client).held && r.world.links[client].storage.Held() >= len(r.state.underWay(client))
}

func (r *run) awaitSent(ctx context.Context, client, what string, within time.Duration, done func() bool) error {
	var holds <-chan struct{}
	if link := r.world.links[client].storage; link != nil {
		holds = link.Holds()
	}
	return r.awaitAlso(ctx, what, within, holds, func() (bool, error) { return done(), nil })
}
