package lab

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario"
)

type links struct {
	service []*network.Link // to the lock service: one for each address that it knows
	storage *network.Link   // for what it sends and does not wait for

	endpoints []string // where the client finds the lock service
	sends     string   // URL by which it finds the storage for what it sends
}

func (n *links) close() {
	for _, l := range n.service {
		l.Close()
	}
	if n.storage != nil {
		n.storage.Close()
	}
}

// partitionFault cuts a client off from the lock service, both ways. TCP delivers later what was sent.
var partitionFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "partition CLIENT from SERVICE", Other: scenario.TheService, Check: checkCut,
		About: "Nothing passes between them, either way."},
	do: func(r *run, _ context.Context, s scenario.Step) error {
		for _, l := range r.world.links[s.Client].service {
			l.Tx.Shut()
			l.Rx.Shut()
		}
		return r.network(s.Client, history.CausePartition, "the network between "+s.Client+" and "+r.service.Name+" is cut")
	},
}

func checkCut(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if c.CutOff(step.Other) {
		return fmt.Sprintf("%s is cut off from %s already", step.Client, step.Other)
	}
	c.Cut = append(c.Cut, step.Other)
	return ""
}

const deafenAbout = "What the client sends arrives, the answers do not."

var deafenServiceFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "deafen CLIENT to SERVICE", Other: scenario.TheService, About: deafenAbout, Check: checkCut},
	do:   (*run).deafen,
}

var deafenStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "deafen CLIENT to storage", Other: scenario.TargetStorage, About: deafenAbout, Check: checkCut},
	do:   (*run).deafen,
}

// deafen keeps the answers of the lock service or the storage from a client; what it sends arrives.
func (r *run) deafen(_ context.Context, s scenario.Step) error {
	n, who := r.world.links[s.Client], s.Other
	if s.Other == scenario.TargetStorage {
		r.state.client(s.Client).deaf = true
		who = "the storage"
		if n.storage != nil {
			n.storage.Rx.Shut()
		}
	} else {
		for _, l := range n.service {
			l.Rx.Shut()
		}
	}
	return r.network(s.Client, history.CauseDeafen, "what "+who+" answers does not reach "+s.Client+" any more")
}

var healFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "heal CLIENT", Dead: true, About: "Ends partition and deafen.",
		Check: func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if len(c.Cut) == 0 {
				return step.Client + " is not cut off here: it needs a \"partition\" or a \"deafen\" before"
			}
			c.Cut = nil
			return ""
		}},
	do: func(r *run, _ context.Context, s scenario.Step) error {
		n, c := r.world.links[s.Client], r.state.client(s.Client)
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
		return r.network(s.Client, history.CauseHeal, "the network of "+s.Client+" works again")
	},
}

func (r *run) network(client, cause, text string) error {
	e := r.event(client, history.KindNetwork)
	e.Cause, e.Text = cause, text
	r.state.record(e)
	return nil
}
