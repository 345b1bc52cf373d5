package lab

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// partitionFault cuts a client off from the lock service: nothing passes, either way.
// TCP keeps what was sent, and delivers it when the network works again.
var partitionFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "partition CLIENT from SERVICE", Other: scenario.TheService, Check: checkCut,
		About: "Nothing passes between them, either way."},
	do: func(r *run, _ context.Context, s scenario.Step) error { return r.partition(s.Client) },
}

func checkCut(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if c.CutOff(step.Other) {
		return fmt.Sprintf("%s is cut off from %s already", step.Client, step.Other)
	}
	c.Cut = append(c.Cut, step.Other)
	return ""
}

// healFault ends that, and what deafen does.
var healFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "heal CLIENT", Dead: true, About: "Ends partition and deafen.",
		Check: func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if len(c.Cut) == 0 {
				return step.Client + " is not cut off here: it needs a \"partition\" or a \"deafen\" before"
			}
			c.Cut = nil
			return ""
		}},
	do: func(r *run, _ context.Context, s scenario.Step) error { return r.heal(s.Client) },
}

func (r *run) partition(client string) error {
	for _, l := range r.world.links[client].service {
		l.Tx.Shut()
		l.Rx.Shut()
	}
	r.network(client, history.CausePartition, "the network between "+client+" and "+r.service.Name+" is cut")
	return nil
}

func (r *run) heal(client string) error {
	n, c := r.world.links[client], r.state.client(client)
	for _, l := range n.service {
		l.Rx.Open()
		l.Tx.Open()
	}
	if n.storage != nil {
		n.storage.Rx.Open()
		if !c.held {
			n.storage.Tx.Open()
		}
	}
	c.deaf = false
	r.network(client, history.CauseHeal, "the network of "+client+" works again")
	return nil
}

// network records what happens to a client's network.
func (r *run) network(client, cause, text string) {
	r.state.record(history.Event{At: r.recorder.now(), Lane: client, Client: client, Kind: history.KindNetwork, Cause: cause, Text: text})
}
